"""Browse the cards and the drafts: full screen, or line by line.

It must not import ``service`` or ``cli``; only ``app.py`` imports textual.
Start reading in ``rows.py``, the model of the lists; ``app.py`` and ``line_mode.py`` show it.

``ManageApp(RowSource(brain))`` is the textual application; its ``run_test`` drives it without a
terminal.
"""
