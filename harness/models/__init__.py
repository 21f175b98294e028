"""What an agent asks: a model, and what is done about its failures, its limits and its cost."""
