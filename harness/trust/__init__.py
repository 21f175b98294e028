"""What a repository brings along, and whether the person has seen it."""
