"""Other systems' formats ↔ ours."""
