"""One connection to a server for all agents of a host."""
