"""Let one of the user's agents complete drafts: build its prompts and check its answers.

This package must not import the command line or a particular agent; it gets a function to ask.
Start with ``complete`` in ``complete.py``; ``prompt.py`` has the prompts.
"""
