"""What a person reads about a team, a run and this machine."""
