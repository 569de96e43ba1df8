"""What happens in a session of a coding agent: a file for each event, and what they share."""
