"""Whether a card is still true of its project: anchors, history, conditions, conflicts."""
