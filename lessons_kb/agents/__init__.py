"""Coding agents: what each sends to a hook, what it takes in answer, and where it is set up."""
