"""After the answer: which checklist items were addressed."""
