"""Classifiers of discrete columns: coding into bins, networks, the MDL discretiser."""
