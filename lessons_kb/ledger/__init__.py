"""What each session was given, and what the lessons achieve."""
