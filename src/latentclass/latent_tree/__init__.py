"""Latent tree classifiers: one tree of latent variables per class."""
