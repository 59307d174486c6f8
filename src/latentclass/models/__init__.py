"""Estimators: thin scikit-learn classes over the engines in `latentclass.core`."""
