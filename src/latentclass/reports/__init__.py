"""Reports: one page about a fitted model for readers who never saw it."""
