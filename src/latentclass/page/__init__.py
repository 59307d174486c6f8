"""The live page: a local page to explore a fitted model."""
