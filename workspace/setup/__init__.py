"""What makes a project run in a fresh tree, and what would make it test another one."""
