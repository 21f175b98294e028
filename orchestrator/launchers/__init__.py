"""Ways to start a teammate process."""
