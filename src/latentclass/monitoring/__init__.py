"""Models in use: how far new rows have moved from those that a model learned from."""
