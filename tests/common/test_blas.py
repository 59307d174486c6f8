"""Every fit and every verb computes on one thread of BLAS and OpenMP, and gives the others back."""

import pytest
from sklearn.base import clone
from test_interrupts import MODELS, calling, make_table
from threadpoolctl import threadpool_limits

from latentclass.engine._blas import _libraries
from latentclass.evaluation import TableClassifier

OURS = [model for model in MODELS if not isinstance(model, TableClassifier)]
"""All but the one that runs the classifiers of others as they are."""

BEFORE = ("/_blas.py", "/_parallel.py", "/_compat.py", "/_callbacks.py")
"""Files whose functions are called before the limit holds, or to set it."""

VERBS = (
    "predict_joint_log_proba",
    "predict_log_proba",
    "predict_proba",
    "predict",
    "score_samples",
    "transform",
    "complete",
    "explain",
)


def n_threads():
    return {library.get_num_threads() for library in _libraries()}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("prototype", OURS, ids=lambda model: type(model).__name__)
def test_the_limit_holds_in_each_verb_and_ends_with_it(prototype):
    model, n_calls = clone(prototype), 0

    def look(frame):
        nonlocal n_calls
        code = frame.f_code
        if not code.co_filename.endswith(BEFORE):
            n_calls += 1
            assert n_threads() == {1}, code.co_qualname

    X, y = make_table(model, 0)
    verbs = [verb for verb in VERBS if hasattr(model, verb)]
    with threadpool_limits(2):
        for verb in ("fit", *verbs, "sample"):
            n_calls = 0
            arguments = {"fit": (X, y), "sample": ()}.get(verb, (X,))
            if hasattr(model, verb):
                with calling(look):
                    getattr(model, verb)(*arguments)
                assert n_calls
            assert n_threads() == {2}, verb
