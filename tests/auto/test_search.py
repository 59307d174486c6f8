"""The search within a time budget, with candidates whose fits take the time that a test says."""

from contextlib import contextmanager

import numpy as np
import pytest

from latentclass.auto import _search
from latentclass.auto._search import Search, watched
from latentclass.auto._weights import LogLoss
from latentclass.baselines import NaiveBayes
from latentclass.engine._parallel import TimeUpError
from latentclass.estimator._inner_folds import deal_folds

BEGIN = 1e9
"""Far ahead of the real clock, which the fits themselves look at."""


class Clock:
    def __init__(self):
        self.now = BEGIN

    def monotonic(self):
        return self.now


class Slow:
    """Naive Bayes on a column; each fit takes some seconds of the clock."""

    head_start = 1.0

    def __init__(
        self, clock, name, seconds, error=None, on=1, cheaper=None, once=False, fixed=0.0, least=0.0
    ):
        self.clock, self.name, self.seconds, self.cheaper = clock, name, seconds, cheaper
        self.error, self.on, self.n_fits, self.n_rows = error, on, 0, []
        self.once, self.known = once, []
        self.fixed, self.least_seconds = fixed, least

    def learn(self, training):
        self.n_fits += 1
        self.n_rows.append(len(training.y))
        self.clock.now += self.fixed + self.seconds * len(training.y) / 120
        if self.error is not None and self.n_fits >= self.on:
            raise self.error
        return NaiveBayes()._fit_model(training, None)

    def chooses_once(self, training):
        return self.once

    def learn_again(self, learned, part):
        """A tenth of the time: nothing is chosen."""
        self.known.append(learned)
        self.clock.now += 0.1 * self.seconds * len(part.y) / 120
        return NaiveBayes()._fit_model(part, None)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(_search, "time", clock)
    monkeypatch.setattr(_search, "WARM", set())
    return clock


@pytest.fixture
def ends(monkeypatch):
    """When each limited computation must end; None for no limit."""
    ends = []

    @contextmanager
    def noted(end):
        ends.append(end)
        yield

    monkeypatch.setattr(_search, "time_limit", noted)
    return ends


def make_search(budget, n_rows=120):
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    X = rng.normal(y, 1.0)[:, None]
    training = NaiveBayes()._read_training(X, y, None)
    joined, folds = deal_folds(training, 5, 0)
    metric = LogLoss(joined.y[folds.row], folds.weight)
    end = None if budget is None else BEGIN + budget
    return Search(joined, folds, metric, end, one_only=False, report=[].append)


def statuses(search):
    return [trial.status for trial in search.trials]


def test_the_first_is_always_finished_and_the_others_if_they_fit(clock):
    search = make_search(60)
    first = Slow(clock, "first", 9)  # 36 s for the folds, 9 for all rows
    search.run([first, Slow(clock, "quick", 0.1), Slow(clock, "long", 20), Slow(clock, "end", 0.1)])
    assert statuses(search) == ["done", "done", "too slow", "not started"]
    assert "s are left" in search.trials[2].reason
    assert search.trials[3].reason == "no time was left"
    tiny = make_search(0)
    tiny.run([Slow(clock, "first", 9), Slow(clock, "second", 0.0)])
    assert statuses(tiny) == ["done", "not started"]


def test_without_a_limit_all_are_finished(clock):
    search = make_search(None)
    search.run([Slow(clock, name, 1e6) for name in "abc"])
    assert statuses(search) == ["done"] * 3
    assert len(search.history) == 3


def test_a_candidate_that_is_too_slow_ends_soon(clock):
    search = make_search(100)
    slow = Slow(clock, "slow", 50)
    search.run([Slow(clock, "first", 0.1), slow])
    assert statuses(search) == ["done", "too slow"]
    assert slow.n_fits == 2  # the first might have compiled kernels
    assert clock.now < BEGIN + 110


def test_the_first_fold_of_a_process_does_not_count(clock):
    search = make_search(100)
    cold = Slow(clock, "cold", 1)
    learn = cold.learn

    def compile_first(training):
        clock.now += 30 if cold.n_fits == 0 else 0
        return learn(training)

    cold.learn = compile_first
    search.run([Slow(clock, "first", 0.1), cold])
    assert statuses(search) == ["done", "done"]
    assert search.trials[1].fit_seconds == pytest.approx(0.8)


def test_a_fold_may_not_take_much_more_than_its_share(clock, ends):
    search = make_search(60)
    search.run([Slow(clock, "first", 0), Slow(clock, "second", 0)])
    assert ends[:6] == [None] * 6  # the first candidate has no limit
    whole, cold, *others = ends[6:]
    assert whole == BEGIN + 60
    assert cold is None
    assert others == pytest.approx([BEGIN + 1.2 * 60 / (still + 1) for still in (4, 3, 2, 1)])


def test_what_takes_no_less_than_another_is_not_begun(clock):
    search = make_search(60)
    done = Slow(clock, "small", 5)  # 4 s for a fold
    longer = Slow(clock, "large", 5, cheaper="small")
    slow, hopeless = Slow(clock, "slow", 10), Slow(clock, "slower", 0.1, cheaper="slow")
    search.run([Slow(clock, "first", 0.1), done, slow, longer, hopeless, Slow(clock, "end", 0.1)])
    assert statuses(search) == ["done", "done", "too slow", "too slow", "too slow", "done"]
    assert (longer.n_fits, hopeless.n_fits) == (0, 0)
    assert search.trials[3].reason.startswith("it needs about 24.0 s more")
    assert search.trials[4].reason == "slow was too slow, and this takes no less"


def test_the_folds_keep_what_a_fit_to_all_rows_chose(clock):
    _search.WARM.add("once")
    search = make_search(60)
    once = Slow(clock, "once", 30, once=True)  # 150 s if every fold chose for itself
    often = Slow(clock, "often", 30)
    search.run([Slow(clock, "first", 0.0), once, often])
    assert statuses(search) == ["done", "done", "too slow"]
    trial = search.trials[1]
    assert once.n_rows == [120]
    assert once.known == [trial.whole] * 5
    assert trial.fit_seconds == pytest.approx(30)
    assert trial.seconds == pytest.approx(30 + 5 * 0.1 * 30 * 0.8)
    assert search.trials[2].whole is None


def test_a_fit_to_all_rows_that_takes_too_long_ends_its_candidate(clock, ends):
    search = make_search(100)
    late = Slow(clock, "late", 0, TimeUpError(), on=2, once=True)
    search.run([Slow(clock, "first", 0), late])
    assert ends[-1] == pytest.approx(BEGIN + 60)
    assert statuses(search) == ["done", "too slow"]
    assert search.trials[1].whole is None


def test_of_many_rows_some_tell_the_cost(clock):
    search = make_search(1000, n_rows=6000)
    slow = Slow(clock, "slow", 60)  # a fold of 4800 rows would take 2400 s
    search.run([Slow(clock, "first", 0.01), slow])
    assert statuses(search) == ["done", "too slow"]
    assert max(slow.n_rows) < 500
    assert clock.now < BEGIN + 400


def test_what_a_fit_takes_for_few_rows_does_not_grow_with_the_rows(clock):
    """All of its time grown with the rows, a fit would take 4 s of 20,000 rows; it takes 0.2 s."""
    search = make_search(2, n_rows=20_000)
    fixed = Slow(clock, "fixed", 0.0012, fixed=0.05)  # 0.05 s, and 0.01 s for 1,000 rows
    search.run([Slow(clock, "first", 0), fixed])
    assert statuses(search) == ["done", "done"]
    assert list(dict.fromkeys(fixed.n_rows))[:3] == [100, 400, 1667]  # the last one to be sure


def test_of_two_short_times_the_shorter_counts(clock):
    search = make_search(20, n_rows=6000)
    noisy, busy = Slow(clock, "noisy", 0), iter([0, 0, 0.08, 0.04, 0.08])  # the first: kernels
    learn = noisy.learn

    def learn_while_busy(training):
        clock.now += next(busy, 0.04)
        return learn(training)

    noisy.learn = learn_while_busy
    search.run([Slow(clock, "first", 0), noisy])
    assert noisy.n_rows[:6] == [100, 100, 100, 400, 400, 4800]
    assert statuses(search) == ["done", "done"]


def test_before_a_refusal_more_rows_are_timed_if_that_is_cheap(clock):
    search = make_search(60, n_rows=20_000)
    first = Slow(clock, "first", 0)
    bent = Slow(clock, "bent", 0)

    def learn(training):
        clock.now += 0.1 if len(training.y) < 200 else 0.35 if len(training.y) < 1000 else 0.5
        return first.learn(training)

    bent.learn = learn  # by the first two sizes, 16 s a fit
    search.run([first, bent])
    assert statuses(search) == ["done", "done"]


def test_a_sample_that_cannot_be_paid_is_not_timed(clock):
    search = make_search(10, n_rows=6000)
    slow = Slow(clock, "slow", 0, fixed=2)
    search.run([Slow(clock, "first", 0), slow])
    assert statuses(search) == ["done", "too slow"]
    assert slow.n_rows == [100, 100]
    assert search.trials[1].reason == "it needs about 12.0 s more, but only 6.0 s are left"


@pytest.mark.parametrize("n_rows", [120, 6000])
def test_a_fit_that_cannot_be_stopped_is_not_begun_without_time_for_it(clock, n_rows):
    search = make_search(10, n_rows)
    trees = Slow(clock, "trees", 0.1, least=2)
    search.run([Slow(clock, "first", 0), trees])
    assert statuses(search) == ["done", "too slow"]
    assert trees.n_fits == 0


def test_a_fit_that_cannot_be_stopped_counts_from_its_first_fold(clock):
    """Nothing of ours is compiled, and a second one could run far past the end."""
    search = make_search(10)
    trees = Slow(clock, "trees", 0, fixed=8, least=0.1)
    search.run([Slow(clock, "first", 0), trees])
    assert statuses(search) == ["done", "too slow"]
    assert trees.n_fits == 1
    assert clock.now == BEGIN + 8


def test_of_many_rows_one_such_fit_fits_in_even_if_all_its_time_grows_with_them(clock):
    search = make_search(30, n_rows=20_000)
    trees = Slow(clock, "trees", 0, fixed=1, least=0.1)
    search.run([Slow(clock, "first", 0), trees])
    # 400 rows took 1 s, so 20,000 could take 50 s; a third sample of 1,667 rows says 12 s
    assert trees.n_rows[:3] == [100, 400, 1667]
    assert statuses(search) == ["done", "done"]


def test_time_to_judge_the_average_is_kept_back(clock, monkeypatch):
    judge = Search._judge

    def slow_judge(self, trial, evidence):
        clock.now += 3
        judge(self, trial, evidence)

    monkeypatch.setattr(Search, "_judge", slow_judge)
    search = make_search(10)
    search.run([Slow(clock, "first", 0), Slow(clock, "second", 0), Slow(clock, "third", 0)])
    assert statuses(search) == ["done", "done", "too slow"]
    assert clock.now + search._judging <= BEGIN + 10


def test_samples_have_each_class_by_its_share():
    search = make_search(None, n_rows=6000)
    part = search._some_rows(100)
    assert np.bincount(part.y).tolist() == [50, 50]


def test_a_candidate_that_fails_is_named_and_the_others_go_on(clock):
    search = make_search(None)
    wrong = Slow(clock, "wrong", 1, ValueError("no such thing"), on=3)
    search.run([Slow(clock, "a", 1), wrong, Slow(clock, "b", 1)])
    assert statuses(search) == ["done", "failed", "done"]
    assert search.trials[1].reason == "ValueError: no such thing"
    assert len(search.weights()) == 2


def test_an_interrupt_keeps_what_is_done(clock):
    search = make_search(None)
    running = Slow(clock, "b", 1, KeyboardInterrupt(), on=2)
    search.run([Slow(clock, "a", 1), running, Slow(clock, "c", 1)])
    assert search.interrupted
    assert statuses(search) == ["done", "interrupted", "not started"]
    assert search.trials[1].reason == "Ctrl-C ended the search while it was tried"
    assert search.trials[2].reason == "the search was interrupted"
    with pytest.raises(KeyboardInterrupt):
        make_search(None).run([Slow(clock, "a", 1, KeyboardInterrupt())])


def test_a_fit_that_hits_the_limit_is_too_slow(clock):
    search = make_search(60)
    search.run([Slow(clock, "a", 0.1), Slow(clock, "b", 0.1, TimeUpError(), on=3)])
    assert statuses(search) == ["done", "too slow"]
    assert search.trials[1].reason == "a fold took longer than its share of the time left"


def test_a_watcher_sees_every_candidate_begin_and_end(clock):
    search, seen = make_search(60), []
    with watched(
        lambda where, trial: seen.append((where is search, trial.candidate.name, trial.status))
    ):
        search.run([Slow(clock, "quick", 0.1), Slow(clock, "long", 100)])
    assert seen == [
        (True, "quick", "not started"),
        (True, "quick", "done"),
        (True, "long", "not started"),
        (True, "long", "too slow"),
    ]
    search.run([Slow(clock, "quick", 0.1)])
    assert len(seen) == 4
