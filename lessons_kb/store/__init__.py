"""The rooms that touch a disk."""
