"""The board: tasks with dependencies, claimed by one worker at a time."""
