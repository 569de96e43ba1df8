"""Packing judged lessons into the block that is put in front of an agent."""
