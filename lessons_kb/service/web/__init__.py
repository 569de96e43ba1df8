"""The organisation's server: brains for many machines over HTTP, each caller kept to its own."""
