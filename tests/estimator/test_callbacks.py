"""What a fit tells callbacks and standard error."""

import pytest

from latentclass.estimator._callbacks import FitProgress


class Context:
    """Stands in for scikit-learn's callback context, and writes down what it is told."""

    def __init__(self, told, name, stop_at=None):
        self.told, self.name, self.stop_at = told, name, stop_at
        self.n_tasks = 0

    def subcontext(self):
        self.n_tasks += 1
        return Context(self.told, f"step {self.n_tasks}", self.stop_at)

    def call_on_fit_task_begin(self, *, estimator, X, y):
        self.told.append(("begin", self.name, estimator.name, X, y))

    def call_on_fit_task_end(self, *, estimator, X, y):
        self.told.append(("end", self.name, estimator.name, X, y))
        return self.name == self.stop_at


class Model:
    """An estimator with callbacks."""

    name = "model"

    def __init__(self, verbose=0, stop_at=None):
        self.verbose, self.stop_at, self.told = verbose, stop_at, []

    def _init_callback_context(self, *, max_subtasks):
        self.told.append(("steps", max_subtasks))
        return Context(self.told, "fit", self.stop_at)


def test_callbacks_are_told_of_the_fit_and_each_step():
    model = Model()
    progress = FitProgress(model, "X", "y", 5)
    assert progress.step(1, -2.0) is False
    progress.end()
    data = ("model", "X", "y")
    assert model.told == [
        ("steps", 5),
        ("begin", "fit", *data),
        ("begin", "step 1", *data),
        ("end", "step 1", *data),
        ("end", "fit", *data),
    ]


def test_a_callback_can_stop_the_fit():
    progress = FitProgress(Model(stop_at="step 2"), None, None, None)
    assert [progress.step(i, 0.0) for i in range(3)] == [False, True, False]


def test_callbacks_get_no_more_steps_than_promised():
    model = Model()
    progress = FitProgress(model, None, None, 2)
    assert [progress.step(i, 0.0) for i in range(4)] == [False] * 4
    assert sum(event[:2] == ("end", "step 2") for event in model.told) == 1
    assert not any(event[1] == "step 3" for event in model.told)


@pytest.mark.parametrize("verbose", [0, 1])
def test_verbose_prints_to_standard_error_also_without_callbacks(verbose, capsys):
    class Plain:
        pass

    model = Plain()
    model.verbose = verbose
    progress = FitProgress(model, None, None, 3)
    assert progress.step(4, -1.5) is False
    progress.end()
    out, err = capsys.readouterr()
    assert out == ""
    assert err == ("Plain: iteration 4, objective -1.500000\n" if verbose else "")
