"""A teammate process."""
