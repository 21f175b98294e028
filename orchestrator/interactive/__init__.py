"""A session of a person with the lead, in a terminal."""
