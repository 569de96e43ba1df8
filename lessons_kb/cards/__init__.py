"""A card as text: what a file says, and how to change it without touching the human's words."""
