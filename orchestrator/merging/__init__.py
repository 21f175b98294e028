"""How completed work comes back: to the branch of the run, or to a worker again."""
