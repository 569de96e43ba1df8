"""The use cases, and the only place where the rooms are put together."""
