"""Hierarchical naive Bayes: latent variables whose states read as rules."""
