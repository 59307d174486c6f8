"""Engines: pure functions on arrays, without scikit-learn."""
