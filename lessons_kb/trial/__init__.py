"""The same tasks with and without lessons: tasks, arms, pairs."""
