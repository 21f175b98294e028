"""Mail between agents: one file of lines per sender and recipient, each message taken once."""
