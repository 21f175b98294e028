"""The lead process: one run, from its opening to its end."""
