"""A trial of our own: tasks that cannot be guessed, done by language models; see material.py."""

from benchmarks.trial.results import run as run
