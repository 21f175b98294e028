"""A model that answers from a playbook, in the process and over HTTP."""
