"""Who may do what: rules, the reading of commands, questions to the person."""
