"""Trials: let an agent do the same tasks with and without lessons, and compare the results.

This package must not import the daemon or the command line.
Start with ``run_trial`` in ``runs.py``; ``tasks.py`` has the format of tasks.
"""
