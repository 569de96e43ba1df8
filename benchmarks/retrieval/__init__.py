"""Measures whether the right card comes and whether the gate is silent otherwise."""
