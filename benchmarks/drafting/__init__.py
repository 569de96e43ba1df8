"""Measures the quality of drafts."""
