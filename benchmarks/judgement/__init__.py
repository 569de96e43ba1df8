"""Measures how often verdicts are right: opened cards, detections, checks and effects."""
