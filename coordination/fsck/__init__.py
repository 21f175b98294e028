"""Every invariant of the team directory, checked from outside."""
