"""Durable team state on a shared directory; knows no model."""
