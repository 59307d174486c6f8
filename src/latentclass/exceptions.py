"""Exceptions and warnings that latentclass raises beside scikit-learn's own."""


class DataSetUnavailableError(OSError):
    """A data set is in none of the places where it was looked for."""


class WekaError(RuntimeError):
    """Weka ran, and did not do what it was asked."""


class WekaUnavailableError(WekaError):
    """Weka or java is not installed."""
