"""Mixtures: latent mixtures without classes, and a classifier per component."""
