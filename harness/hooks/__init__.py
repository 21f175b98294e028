"""Commands and callables of the person at fixed points of every agent."""
