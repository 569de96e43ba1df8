"""Likeness in meaning, by a local embedding model: the optional extra ``[semantic]``."""
