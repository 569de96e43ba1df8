"""The rooms that start a process."""
