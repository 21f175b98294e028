"""What an agent remembers of its conversation, and how that stays within the model's window."""
