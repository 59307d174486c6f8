"""Latent classification models: continuous, binary and mixed columns."""
