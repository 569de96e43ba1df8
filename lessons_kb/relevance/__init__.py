"""Is a card about this prompt? The gate, and what is known of terms."""
