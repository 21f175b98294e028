"""The tools an agent may call, one module per family."""
