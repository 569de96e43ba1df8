"""The consuming half: find the few cards that matter for a prompt, and show them."""
