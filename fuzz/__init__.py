"""Fuzzing: whatever bytes come in, the promises of each reader hold.

``fuzz.targets`` says what is promised, one function of bytes per reader; ``python -m fuzz`` runs
them under atheris, coverage-guided; ``tests/trust/test_fuzz.py`` replays every finding ever made
(``tests/golden/fuzz/``) and some thousand mutations in each run of the suite.

atheris needs an environment of its own: ``pip install atheris -e .``, then ``python -m fuzz``.
"""
