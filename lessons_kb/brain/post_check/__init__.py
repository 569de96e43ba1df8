"""The check of an answer: what was done, who judges it, and what is counted."""
