"""Why a prompt was given what it was given, and what would have changed that."""
