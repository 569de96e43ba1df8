"""What happens in a session of a coding agent, one file per event."""
