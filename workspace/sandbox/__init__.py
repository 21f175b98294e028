"""Commands of agents and repositories inside bubblewrap, and the way of their commits out of it."""
