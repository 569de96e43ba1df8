"""What became of a lesson: the post-check, the reasons, the figures, the journal."""
