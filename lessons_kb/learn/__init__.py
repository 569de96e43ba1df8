"""The producing half: triggers in a session's events, drafts and the quality gate they pass."""
