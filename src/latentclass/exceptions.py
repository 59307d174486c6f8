"""Exceptions that latentclass raises in addition to those of scikit-learn."""


class DataSetUnavailableError(OSError):
    """No source has the data set."""


class WekaError(RuntimeError):
    """Weka ran but failed."""


class WekaUnavailableError(WekaError):
    """Weka or java is not installed."""
