"""Where work happens: worktrees, checks and the way back."""
