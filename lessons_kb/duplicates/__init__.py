"""Near-duplicates among cards."""
