"""What a team remembers from one conversation to the next: records in files, recalled as background."""
