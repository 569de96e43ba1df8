"""Volunteers and their shifts."""
