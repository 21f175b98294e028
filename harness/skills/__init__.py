"""Skills: folders that say how to do something, found, checked and handed to a model on demand."""
