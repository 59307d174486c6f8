"""Reports: one page about a fitted model for readers who have never seen it."""
