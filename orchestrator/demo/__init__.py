"""A whole team on a small real repository, with the scripted model."""
