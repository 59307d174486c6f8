"""The live page: a local page to ask a fitted model."""
