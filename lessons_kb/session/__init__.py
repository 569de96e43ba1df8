"""The handlers of hook events, one module per kind of event, and the modules that they share.

It imports nothing from ``service`` or ``cli``. Start reading with ``dispatch.py``, which calls the
handler of an event, and ``event_types.py``, which defines the types. ``prompt.py`` handles a
prompt.
"""
