"""A scripted team under accidents that are drawn from a seed."""
