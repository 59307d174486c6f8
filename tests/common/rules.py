"""What the common tests share."""

import numpy as np
from numpy.testing import assert_allclose


def proba(model, X):
    values = model.predict_proba(X)
    assert np.isfinite(values).all()
    assert_allclose(values.sum(axis=1), 1.0, rtol=1e-12)
    return values


def change(model, **parameters):
    """Set those of the parameters that the model has."""
    known = model.get_params(deep=False)
    return model.set_params(**{key: value for key, value in parameters.items() if key in known})


def number_grid(fitted, name):
    """Numbers to integrate over, both sides of every cut of a discretised column included."""
    cuts = np.empty(0)
    if hasattr(fitted, "cut_points_"):  # of all sets of cut points, where a model averages several
        coding = fitted._model.coding
        cuts = coding.bins[list(fitted.cut_points_).index(name)].cuts
    return np.sort(np.r_[np.linspace(-15, 15, 2001), cuts, np.nextafter(cuts, np.inf)])
