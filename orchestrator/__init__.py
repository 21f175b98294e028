"""The lead process and everything a person touches."""
