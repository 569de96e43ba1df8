"""The gate: judge whether a card is about a prompt, from the statistics of its words.

This package must not import brains, stores or sessions; it gets hits and evidence.
Start with ``judge`` in ``gate.py``; ``background_prompts.py`` has the statistics.
"""
