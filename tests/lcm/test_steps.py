"""How many gradient steps follow EM, and how sure the model may be, as few held-out rows say."""

import numpy as np
import pytest

from latentclass import HybridLCMClassifier, LCMClassifier


def clear_classes(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    return np.column_stack([rng.normal(4.0 * y), rng.normal(size=n_rows)]), y


@pytest.mark.parametrize("model", [LCMClassifier(1), HybridLCMClassifier(1, 1)], ids=str)
def test_a_few_rows_that_are_right_by_chance_do_not_make_the_model_sure(model):
    model.set_params(n_init=2, discriminative=True, random_state=0)
    few, many = (model.fit(*clear_classes(n_rows)).temperature_ for n_rows in (10, 600))
    assert few >= 1.5
    assert many == 1.0
