"""Engines that several families share: pure functions on arrays, no scikit-learn."""
