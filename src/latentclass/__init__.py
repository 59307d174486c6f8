"""Classification through latent variables."""

from latentclass._version import __version__

__all__ = ["__version__"]
