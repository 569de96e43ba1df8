"""Figures for speed, retrieval quality and the gate, beside plain references in the same run."""
