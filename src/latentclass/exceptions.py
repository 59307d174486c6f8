"""Exceptions that latentclass raises in addition to those of scikit-learn."""


class DataSetUnavailableError(OSError):
    """No source has the data set."""


class WekaError(RuntimeError):
    """Weka ran but failed."""


class WekaUnavailableError(WekaError):
    """Weka or java is not installed."""


class ModelFileError(ValueError):
    """A file is not a model file that this version can read, or a model cannot be stored in one."""


class TableFileError(ValueError):
    """A file is not a table that can be read. The message names file, line and remedy."""


class EmptyComponentWarning(UserWarning):
    """A mixture has components that no training row most probably belongs to."""


class InconsistentVersionWarning(UserWarning):
    """A pickle was made by another version of this library or of scikit-learn."""


class TableWarning(UserWarning):
    """A table or its labels are probably not what they seem.

    To silence all of these warnings:
    `warnings.filterwarnings("ignore", category=latentclass.exceptions.TableWarning)`.
    """


class UnseenValueWarning(TableWarning):
    """A column holds a value that was not seen in `fit`; it counts as missing."""
