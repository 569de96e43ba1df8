"""Is everything in order? The checks of `lessons doctor`, and what its `--fix` puts right."""
