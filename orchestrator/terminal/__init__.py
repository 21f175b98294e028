"""What a person sees and answers at a terminal."""
