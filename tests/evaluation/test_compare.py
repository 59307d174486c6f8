"""The whole comparison: folds, stored results, failures, protocol, output."""

import math
import re
import sys
import tracemalloc
import warnings
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from damage import DAMAGE, damaged
from evaluation_helpers import Failing, LabelsOnly, Logged, n_fits
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from latentclass import LCMClassifierCV
from latentclass.baselines import MixtureNaiveBayes, NaiveBayes
from latentclass.datasets import load_dataset
from latentclass.evaluation import Metric, Store, TableClassifier, compare
from latentclass.evaluation._compare import read_estimators
from latentclass.evaluation._progress import Progress, TimeLeft, clock_text
from latentclass.evaluation._run import pack, predictions_of, unpack
from latentclass.evaluation._store import _line
from latentclass.evaluation._tables import LEAK

MODELS = {"near": Logged(), "nearer": Logged(shrink=0.3), "tree": DecisionTreeClassifier()}


def outcome(comparison):
    """All results except the seconds, to compare runs."""
    columns = comparison.columns()
    return {k: v for k, v in columns.items() if not k.endswith("_seconds")}


@pytest.fixture
def log(tmp_path):
    return str(tmp_path / "fits.txt")


@pytest.fixture
def store(tmp_path):
    return tmp_path / "results.jsonl"


# -------------------------------------------------------------------------------- scores


def test_scores_are_those_of_scikit_learn_on_the_same_folds():
    comparison = compare({"nb": GaussianNB()}, [("d", *iris())], cv=5)
    X, y = iris()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    proba = cross_val_predict(GaussianNB(), X, y, cv=folds, method="predict_proba")
    assert_allclose(comparison.scores("log_loss"), [[log_loss(y, proba)]], rtol=1e-5)
    predicted = np.array(["u", "v", "w"])[proba.argmax(axis=1)]
    assert comparison.scores()[0, 0] == accuracy_score(y, predicted)
    a = accuracy_score(y, predicted)
    assert_allclose(comparison.sd(), [[math.sqrt(a * (1 - a) / 150)]], rtol=1e-12)
    by_fold = comparison.fold_scores("d")[:, 0]
    for fold, score in zip(comparison.folds["d"], by_fold, strict=True):
        assert score == accuracy_score(y[fold.test], predicted[fold.test])
    assert_allclose(comparison.sd(how="folds"), [[np.std(by_fold, ddof=1)]])


def iris():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return X, np.array(["u", "v", "w"])[y]


def test_all_classifiers_get_the_same_rows(blobs, log):
    class Spy(Logged):
        seen: ClassVar = []

        def fit(self, X, y):
            Spy.seen.append((self.shrink, X.tobytes(), tuple(y)))
            return super().fit(X, y)

    compare({"a": Spy(shrink=0.1), "b": Spy(shrink=0.2)}, blobs, cv=3)
    first, second = ([s[1:] for s in Spy.seen if s[0] == shrink] for shrink in (0.1, 0.2))
    assert len(first) == 6
    assert sorted(first) == sorted(second)


def test_preprocessing_sees_training_rows_only(blobs):
    class Scaler(StandardScaler):
        sizes: ClassVar = []

        def fit(self, X, y=None):
            Scaler.sizes.append(len(X))
            return super().fit(X, y)

    compare({"p": make_pipeline(Scaler(), LogisticRegression())}, blobs[:1], cv=3)
    assert Scaler.sizes == [40, 40, 40]


def test_a_class_that_a_training_part_lacks_gets_probability_0(blobs):
    name, X, y = blobs[0]
    y = y.copy()
    y[7] = "z"  # one row only: where it is tested, it was not seen
    comparison = compare({"near": Logged()}, (name, X, y), cv=4)
    place = next(f.number for f in comparison.folds[name] if 7 in f.test)
    record = comparison.record(name, "near", place)
    assert record["classes"] == ["c0", "c1", "c2", "z"]
    proba = predictions_of(record).proba
    assert_array_equal(proba[:, 3], 0)
    assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
    assert comparison.fold_scores(name, "log_loss").max() > 15 * math.log(10) / 20


def test_unlabelled_rows_reach_those_who_can_use_them(blobs):
    name, X, y = blobs[0]
    y = y.astype(object)
    y[::2] = None
    models = {"nb": NaiveBayes(), "log": TableClassifier(LogisticRegression())}
    comparison = compare(models, (name, X, y), cv=3)
    assert comparison.n_rows(name) == 30
    assert comparison.columns()["n_train"] == [20] * 6  # labelled ones
    assert len(comparison.folds[name][0].train) == 50
    assert not np.isnan(comparison.scores()).any()


def test_repeated_folds_count_each_row_once_for_kohavi(blobs):
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    comparison = compare(MODELS, blobs, cv=cv)
    assert comparison.fold_scores("three").shape == (6, 3)
    a = comparison.scores()[0, 0]
    assert_allclose(comparison.sd()[0, 0], math.sqrt(a * (1 - a) / 60))


def test_without_probabilities_there_is_accuracy(blobs):
    comparison = compare([LabelsOnly(), Logged()], blobs, cv=3)
    assert not np.isnan(comparison.scores("accuracy")).any()
    assert np.isnan(comparison.scores("brier")[:, 0]).all()
    assert "brier" in str(comparison.summary("brier"))


def test_a_score_of_ones_own(blobs):
    errors = Metric("errors", lambda p: float(np.sum(p.predicted != p.y)), False, digits=0)
    comparison = compare(MODELS, blobs, cv=3, scoring=[errors, "accuracy"])
    expected = (1 - comparison.scores("accuracy")) * [[60], [40]]
    assert_allclose(comparison.scores(), expected)
    assert_allclose(comparison.scores("errors"), expected)
    assert "errors" in comparison.columns()
    with pytest.raises(ValueError, match='how="kohavi" needs metric="accuracy"'):
        comparison.sd("errors", "kohavi")


# ------------------------------------------------------------------------ store and keys


def test_nothing_is_computed_twice(blobs, log, store):
    models = {"a": Logged(log), "same": Logged(log), "b": Logged(log, shrink=0.5)}
    first = compare(models, blobs, cv=3, store=store)
    assert first.n_computed == n_fits(log) == 12  # 2 data sets, 3 folds, 2 different classifiers
    again = compare(models, blobs, cv=3, store=store, scoring="brier")
    assert again.n_computed == 0
    assert n_fits(log) == 12
    assert outcome(again) == outcome(first)
    # with other names it is the same computation, and the new names are shown
    renamed = compare({"new": Logged(log)}, [("d", *blobs[0][1:])], cv=3, store=store)
    assert renamed.n_computed == 0
    assert renamed.columns()["classifier"] == ["new"] * 3
    # more folds, classifiers or data sets: only what is new is computed
    assert (
        compare({"c": Logged(log, shrink=0.7)} | models, blobs, cv=3, store=store).n_computed == 6
    )


def test_whatever_determines_a_result_is_computed_anew(blobs, log, store, monkeypatch):
    import latentclass.evaluation._identity as identity_module

    def computed(model=None, data=blobs[0], **options):
        return compare(
            model or Logged(log), [data], **({"cv": 3} | options), store=store
        ).n_computed

    name, X, y = blobs[0]
    X = X.copy()
    X[0, 0] += 1e-9
    assert computed() == 3
    assert computed() == 0
    assert computed(Logged(log, shrink=0.2)) == 3
    assert computed(data=(name, X, y)) == 3
    assert computed(cv=4) == 4
    assert computed(random_state=1) == 3
    assert computed(protocol="paper", model=NaiveBayes()) == 3
    assert computed(protocol="honest", model=NaiveBayes()) == 3
    monkeypatch.setattr(identity_module, "__version__", "99.0")
    assert computed() == 3


def test_a_damaged_last_record_is_computed_again(blobs, log, store):
    first = compare({"a": Logged(log)}, blobs, cv=3, store=store)
    store.write_bytes(store.read_bytes()[:-30])
    with pytest.warns(UserWarning, match=r"skipped 1 damaged record\(s\) \(line 6\)"):
        again = compare({"a": Logged(log)}, blobs, cv=3, store=store)
    assert again.n_computed == 1
    assert n_fits(log) == 7
    assert outcome(again) == outcome(first)


def test_a_damaged_store_is_mended(blobs, store):
    """Random damage: changed bytes, and records that say something else with a right checksum."""
    models = {"a": Logged(), "b": LabelsOnly()}
    expected = repr(outcome(compare(models, blobs[:1], cv=2, store=store)))
    content, rng, seen = store.read_bytes(), np.random.default_rng(0), set()
    for _ in range(40):
        changed, damage = damaged(content, rng)
        store.write_bytes(changed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = compare(models, blobs[:1], cv=2, store=store)
        assert math.isfinite(found.scores("fit_seconds").sum()) or found.failures, damage
        if found.n_computed:
            (warned,) = caught
            assert "results.jsonl: skipped 1 damaged record(s) (line " in str(warned.message)
            assert repr(outcome(found)) == expected, damage
            seen.add(damage.split()[0])
    assert seen == {*DAMAGE}


@pytest.mark.parametrize(
    ("field", "content"),
    [
        ("n_test", 29),
        ("n_train", None),
        ("warnings", "none"),
        ("fit_seconds", 10**400),
        ("predict_seconds", float("nan")),
        ("classes", ["c0", "c1"]),
        ("y", pack(np.zeros(30, dtype=np.int32))),
        ("predicted", pack(np.full(30, 3, dtype=np.int32))),
        ("proba", pack(np.full((30, 3), np.nan, dtype=np.float32))),
        ("proba", pack(np.zeros((30, 2), dtype=np.float32))),
        ("proba", pack(np.full((30, 3), 1.1, dtype=np.float32))),
    ],
)
def test_a_record_that_cannot_be_true_is_computed_again(blobs, store, field, content):
    first = compare(Logged(), blobs[:1], cv=2, store=store)
    lies = [record | {field: content} for record in Store(store).records.values()]
    store.write_bytes(b"".join(map(_line, lies)))
    message = rf"damaged record\(s\) \(line 1, 2\); the first has no valid '{field}'\. Their"
    with pytest.warns(UserWarning, match=message):
        found = compare(Logged(), blobs[:1], cv=2, store=store)
    assert outcome(found) == outcome(first)


def test_a_failure_that_cannot_be_true_is_computed_again(blobs, store):
    with pytest.warns(UserWarning, match="fits failed"):
        compare(Failing(), blobs[:1], cv=2, store=store)
    failures = list(Store(store).records.values())
    store.write_bytes(b"".join(_line(record | {"traceback": 3}) for record in failures))
    with (
        pytest.warns(UserWarning, match="fits failed"),
        pytest.warns(UserWarning, match="the first has no valid 'traceback'"),
    ):
        assert compare(Failing(), blobs[:1], cv=2, store=store).n_computed == 2
    # a failure has no seconds, so what stands there does not matter
    store.write_bytes(b"".join(_line(record | {"fit_seconds": "x"}) for record in failures))
    with pytest.warns(UserWarning, match="fits failed"):
        assert compare(Failing(), blobs[:1], cv=2, store=store).n_computed == 0


def test_no_more_is_unpacked_than_is_expected():
    bomb = pack(np.zeros(10**6, dtype=np.int32))
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"The array is not one of type <i4 and shape \(20,\)\."):
        unpack(bomb | {"shape": [20]}, np.int32, (20,))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**5
    whole = np.arange(20, dtype=np.int32)
    assert_array_equal(unpack(pack(whole), np.int32, (20,)), whole)
    with pytest.raises(ValueError, match="The array is not"):
        unpack(pack(whole), np.float32, (20,))


def test_a_store_that_cannot_be_written_is_told_before_the_first_fit(blobs, log, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match=r"The store 's.jsonl' cannot be written to"):
        compare(Logged(log), blobs, store=tmp_path / "file" / "s.jsonl")
    assert n_fits(log) == 0


def test_every_fold_is_in_the_store_before_the_next_ends(blobs, store):
    class Counting(Logged):
        lines: ClassVar = []

        def fit(self, X, y):
            Counting.lines.append(len(store.read_bytes().splitlines()))
            return super().fit(X, y)

    compare({"a": Counting()}, blobs, cv=3, store=store)
    assert Counting.lines == list(range(6))


def test_seeds_depend_on_the_fold_alone(blobs):
    forest = RandomForestClassifier(n_estimators=3, max_depth=2)
    whole = compare({"f": forest, "n": Logged()}, blobs, cv=3)
    alone = compare({"f": make_pipeline(clone(forest))}, blobs[1:], cv=3)
    part = compare({"f": forest}, blobs[::-1], cv=3)
    assert_array_equal(part.scores("log_loss")[::-1, 0], whole.scores("log_loss")[:, 0])
    assert alone.scores("log_loss").shape == (1, 1)
    other = compare({"f": forest}, blobs, cv=whole_folds(whole), random_state=1)
    assert np.any(other.scores("log_loss")[:, 0] != whole.scores("log_loss")[:, 0])
    given = RandomForestClassifier(n_estimators=3, max_depth=2, random_state=5)
    fixed = [
        compare({"f": given}, blobs, cv=whole_folds(whole), random_state=seed).scores("log_loss")
        for seed in (0, 1)
    ]
    assert_array_equal(*fixed)


def whole_folds(comparison):
    return {
        name: [(fold.train, fold.test) for fold in folds]
        for name, folds in comparison.folds.items()
    }


# ------------------------------------------------------------------------------ failures


def test_a_failure_is_recorded_and_the_rest_goes_on(blobs, store, tmp_path):
    mend = tmp_path / "mended"
    models = {"bad": Failing(bad_rows=40, mend=str(mend)), "good": Logged()}
    with pytest.warns(
        UserWarning, match=r"3 of 12 fits failed; the first is bad on three, fold 0: Runtim"
    ):
        comparison = compare(models, blobs, cv=3, store=store)
    assert [record["dataset"] for record in comparison.failures] == ["three"] * 3
    assert "is too hard" in comparison.failures[0]["traceback"]
    assert_array_equal(np.isnan(comparison.scores()), [[True, False], [False, False]])
    assert comparison.friedman().n_datasets == 1
    assert math.isnan(comparison.test("bad", "good", dataset="three").p_value)
    text = str(comparison.table())
    assert "The first failure: bad on three, fold 0: RuntimeError: this fold is too hard" in text
    assert re.search(r"^three +- +>", text, re.MULTILINE)
    assert "3 failed" in repr(comparison)
    assert comparison.columns()["error"][0].startswith("RuntimeError")
    assert comparison.wins_ties_losses("bad", "good", test=None)[1] <= 1
    # a failure is a result too: it is tried again only on request
    with pytest.warns(UserWarning, match="3 of 12 fits failed"):
        assert compare(models, blobs, cv=3, store=store).n_computed == 0
    mend.touch()
    healed = compare(models, blobs, cv=3, store=store, retry_failed=True)
    assert healed.n_computed == 3
    assert healed.failures == []
    assert Store(store).n_damaged == 0
    assert compare(models, blobs, cv=3, store=store).failures == []


def test_only_stored_computes_and_stores_nothing(blobs, store):
    first = compare([Logged()], blobs[:1], cv=3, store=store)
    before = store.read_bytes()
    stored = compare([Logged()], blobs[:2], cv=3, store=store, only_stored=True)  # no warning
    assert stored.n_computed == 0
    assert store.read_bytes() == before
    assert_array_equal(np.isnan(stored.scores()), [[False], [True]])
    assert_array_equal(stored.scores()[0], first.scores()[0])
    assert stored.failures[0]["error"] == "LookupError: This fold is not in the store."


class Exiting(Failing):
    """Ends the program, with half a character in its message."""

    def fit(self, X, y):
        raise SystemExit("bye \ud800")


def test_a_classifier_that_would_end_the_program_fails_alone(blobs, store):
    with pytest.warns(UserWarning, match=r"2 of 4 fits failed.*SystemExit: bye \\ud800\. See"):
        comparison = compare([Exiting(), Logged()], blobs[:1], cv=2, store=store)
    assert not np.isnan(comparison.scores()[0, 1])
    comparison.to_csv().encode()
    assert len(Store(store).records) == 4


def test_all_failing_gives_a_table_all_the_same(blobs):
    with pytest.warns(UserWarning, match="12 of 12 fits failed"):
        comparison = compare([Failing(), Failing2()], blobs, cv=3)
    assert "Friedman" not in str(comparison)
    assert "Failing" in str(comparison.versus("Failing"))
    with pytest.raises(ValueError, match=r"plot_ranks needs at least 2 data sets .*, found 0"):
        comparison.plot_ranks()


class Failing2(Failing):
    pass


class BadProba(Logged):
    def __init__(self, how="nan"):
        super().__init__()
        self.how = how

    def get_params(self, deep=True):
        return {"how": self.how}

    def predict_proba(self, X):
        proba = super().predict_proba(X)
        return {"nan": proba * np.nan, "large": proba + 0.5, "few": proba[:, :1]}[self.how]

    def predict(self, X):
        return np.full(len(X), "unheard of")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("nan", "predict_proba returned values that are not between 0 and 1"),
        ("large", "predict_proba returned values that are not between 0 and 1"),
        ("few", "predict_proba has 1 colu"),
    ],
)
def test_impossible_probabilities_are_failures(blobs, how, message):
    with pytest.warns(UserWarning, match="fits failed"):
        comparison = compare([BadProba(how)], blobs[:1], cv=2)
    assert message in comparison.failures[0]["error"]


@pytest.mark.parametrize("model", [TableClassifier(GaussianNB()), NaiveBayes()])
def test_test_rows_are_predicted_as_by_the_classifier_itself(blobs, model):
    name, X, y = blobs[0]
    comparison = compare({"model": model}, [(name, X, y)], cv=3)
    for fold in comparison.folds[name]:
        answers = predictions_of(comparison.record(name, "model", fold.number))
        alone = clone(model).fit(X[fold.train], y[fold.train])
        assert_array_equal(alone.classes_[answers.predicted], alone.predict(X[fold.test]))
        assert_array_equal(answers.proba, alone.predict_proba(X[fold.test]).astype(np.float32))


@pytest.mark.parametrize("model", [TableClassifier(GaussianNB()), NaiveBayes()])
def test_test_rows_are_read_once(blobs, monkeypatch, model):
    tables = []
    kind, encode = type(model), type(model)._encode
    monkeypatch.setattr(kind, "_encode", lambda self, X: tables.append(X) or encode(self, X))
    comparison = compare([model], blobs[:1], cv=3)
    assert not comparison.failures
    assert len(tables) == 3


def test_an_overridden_predict_is_used(blobs):
    class Stubborn(NaiveBayes):
        def predict(self, X, priors=None):
            return np.full(len(X), self.classes_[0])

    comparison = compare([Stubborn()], blobs[:1], cv=2)
    answers = predictions_of(comparison.record(blobs[0][0], "Stubborn"))
    assert set(answers.predicted) == {0}


def test_labels_that_are_no_class_are_wrong(blobs):
    class Inventive(LabelsOnly):
        def predict(self, X):
            return np.full(len(X), "unheard of")

    assert compare([Inventive()], blobs[:1], cv=2).scores()[0, 0] == 0


def test_warnings_of_a_fit_are_recorded_once_and_not_shown(blobs):
    class Warning_(Logged):
        def fit(self, X, y):
            for _ in range(3):
                warnings.warn("it did not converge", RuntimeWarning, stacklevel=1)
            return super().fit(X, y)

    comparison = compare({"w": Warning_()}, blobs[:1], cv=2)
    assert comparison.record("three", "w")["warnings"] == ["RuntimeWarning: it did not converge"]
    assert comparison.columns()["warnings"] == [1, 1]


# ------------------------------------------------------------------------------ protocol


def test_every_output_of_the_papers_protocol_says_that_it_leaks(blobs):
    models = {"nb": NaiveBayes(), "t": TableClassifier(DecisionTreeClassifier())}
    paper = compare(models, blobs, cv=3, protocol="paper", scoring="accuracy")
    honest = compare(models, blobs, cv=3, scoring="accuracy")
    for comparison, expected in ((paper, True), (honest, False)):
        tables = [comparison.table(), comparison.summary(), comparison.versus("nb")]
        texts = [str(comparison), repr(comparison), comparison.to_csv()]
        texts += [comparison.to_frame().to_string(max_colwidth=None)]
        for table in tables:
            texts += [str(table), table.to_csv(), table.to_frame().to_string(max_colwidth=None)]
            texts += [table.to_markdown(), table.to_latex()]
        assert [plain(LEAK) in plain(text) for text in texts] == [expected] * len(texts)
        for display in (comparison.plot_errors("nb", "t"), comparison.plot_ranks()):
            assert ("leaked" in display.ax_.get_title()) is expected


def plain(text):
    return re.sub(r"[^a-z]+", "", text.replace('""', '"').lower())


def test_the_papers_protocol_gives_discrete_tables(blobs):
    class Kinds(NaiveBayes):
        seen: ClassVar = set()

        def fit(self, X, y, sample_weight=None):
            Kinds.seen |= set(np.unique(X.astype(str)))
            return super().fit(X, y)

    compare({"k": Kinds()}, blobs[:1], cv=2, protocol="paper")
    assert Kinds.seen <= {f"bin {k}" for k in range(5)}
    assert "bin 1" in Kinds.seen


# ------------------------------------------------------------------------------- the rest


def test_progress_in_lines(blobs, capsys):
    compare({"a": Logged()}, blobs, cv=2)
    assert capsys.readouterr() == ("", "")
    with pytest.warns(UserWarning, match="fits failed"):
        compare({"a": Logged(), "f": Failing(bad_rows=30)}, blobs, cv=2, verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(r"compare 1/8 \(-?[-\d:]+ left\): a on three: \d\.\d\d s", err)
    assert "f on three: failed: RuntimeError" in err
    assert "compare 8/8 (0:00:00 left)" in err


def test_progress_as_a_bar(blobs, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with pytest.warns(UserWarning, match="fits failed"):
        compare({"a": Logged(), "f": Failing(bad_rows=30)}, blobs, cv=2, verbose=1)
    err = re.sub(r"\x1b\[[\d;?]*\w", "", capsys.readouterr().err)  # without colours
    assert "8/8" in err
    assert "0:00:00 left 2 failed" in err


def test_progress_in_a_terminal_without_rich(blobs, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setitem(sys.modules, "rich", None)
    compare({"a": Logged()}, blobs, cv=2, verbose=1)
    assert "compare 4/4" in capsys.readouterr().err


def test_time_left_knows_slow_pairs():
    now = [0.0]
    slow, fast = ("big", "slow"), ("small", "fast")
    left = TimeLeft([slow] * 2 + [fast] * 3, [(slow, 100.0)], clock=lambda: now[0])
    assert left.left() is None
    now[0] = 1.0
    left.done(fast, 2.0)  # two workers: 2 seconds of work in 1
    assert left.left() == (2 * 100 + 2 * 2) / 2
    unknown = TimeLeft([("x", "y"), fast], clock=lambda: now[0])
    now[0] = 3.0
    unknown.done(fast, 2.0)
    assert unknown.left() == 2.0
    assert [clock_text(s) for s in (None, 59.6, 3725)] == ["-:--:--", "0:01:00", "1:02:05"]
    assert Progress(0, left, verbose=1).bar is None


def test_classifiers_come_in_a_dict_a_list_or_alone():
    pipe = make_pipeline(StandardScaler(), TableClassifier(LogisticRegression()))
    assert list(read_estimators([GaussianNB(), pipe])) == ["GaussianNB", "LogisticRegression"]
    assert list(read_estimators(GaussianNB())) == ["GaussianNB"]


@pytest.mark.parametrize(
    ("estimators", "error", "message"),
    [
        ([], ValueError, "estimators must be classifiers with different names, found none."),
        ([GaussianNB(), GaussianNB()], ValueError, "found ['GaussianNB'] more than once."),
        ({"nb": GaussianNB}, TypeError, "found the class GaussianNB of type ABCMeta. Pass an ins"),
        ({"nb": 3}, TypeError, "estimators['nb'] must be a scikit-learn classifier"),
        ({1: GaussianNB()}, TypeError, "under a name of type str"),
    ],
)
def test_impossible_classifiers_are_refused(estimators, error, message):
    with pytest.raises(error, match=re.escape(message)):
        read_estimators(estimators)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"protocol": "folk"}, "protocol='folk' must be one of 'honest', 'paper'."),
        ({"random_state": None}, "random_state=None must be a whole number of at least 0."),
        ({"verbose": -1}, "verbose=-1 must be a whole number"),
        ({"retry_failed": 1}, "retry_failed=1 must be one of True, False."),
        ({"only_stored": 1}, "only_stored=1 must be one of True, False."),
    ],
)
def test_impossible_options_are_refused(blobs, option, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        compare(MODELS, blobs, **option)


@pytest.mark.parametrize("cv", [3, "split"])
def test_one_data_set_and_one_split_are_enough(cv):
    rows = np.array(["train", "test"] * 75, dtype=object)
    data = replace(load_dataset("iris"), split=rows)
    comparison = compare({"nb": NaiveBayes(), "t": TableClassifier(GaussianNB())}, data, cv=cv)
    assert comparison.n_rows("iris") == (150 if cv == 3 else 75)
    assert np.isnan(comparison.sd(how="folds")).all() == (cv == "split")
    assert math.isnan(comparison.test("nb", "t", dataset="iris").p_value) == (cv == "split")
    text = str(comparison)
    assert "average" not in text
    assert "Friedman" not in text
    assert "Nemenyi p" not in comparison.versus("nb").header
    assert "log_loss" in str(comparison.table("log_loss"))


# ------------------------------------------------------------------ the table classifier


@parametrize_with_checks([TableClassifier(LogisticRegression())])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_table_classifier_codes_by_the_training_rows():
    X = pd.DataFrame({"v": [1.0, 3.0, np.nan, 100.0], "town": ["Rome", "Oslo", None, "Bonn"]})
    y = ["a", "b", "a", None]

    class Peek(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_, self.X_ = np.unique(y), X
            return self

        def predict(self, X):
            self.seen_ = X
            return np.full(len(X), "a")

    model = TableClassifier(Peek()).fit(X, y)
    # mean 2, s.d. 1 of the labelled rows; the hole is the mean; towns Bonn, Oslo, Rome
    assert_allclose(model.estimator_.X_, [[-1, 0, 0, 1], [1, 0, 1, 0], [0, 0, 0, 0]])
    model.predict(pd.DataFrame({"v": [4.0], "town": ["Lima"]}))
    assert_allclose(model.estimator_.seen_, [[2, 0, 0, 0]])
    assert not hasattr(model, "predict_proba")
    assert hasattr(TableClassifier(GaussianNB()), "predict_proba")
    raw = TableClassifier(Peek(), scale=False).fit(X, y)
    assert_allclose(raw.estimator_.X_[:, 0], [-1, 1, 0])
    flat = TableClassifier(Peek()).fit([[0.1], [0.1], [0.1]], ["a", "b", "a"])
    assert_allclose(flat.estimator_.X_, 0, atol=1e-15)
    with pytest.raises(ValueError, match="X has 4 rows, y has 3 labels"):
        TableClassifier(Peek()).fit(X, y[:3])
    with (
        pytest.warns(UserWarning, match="have no value in any row"),
        pytest.raises(ValueError, match="no column with a value, so Peek has nothing to learn fro"),
    ):
        TableClassifier(Peek()).fit([[None], [None]], ["a", "b"])
    assert TableClassifier(GaussianNB()).__sklearn_tags__().input_tags.allow_nan


def test_table_classifier_copes_with_very_large_and_very_small_numbers():
    X, y = np.array([[1.0], [3.0], [4.0], [5.0]]), [0, 0, 1, 1]
    plain = TableClassifier(GaussianNB()).fit(X, y).predict_proba(X)
    for power in (-200, 200):
        model = TableClassifier(GaussianNB()).fit(X * 10.0**power, y)
        assert_allclose(model.predict_proba(X * 10.0**power), plain, rtol=1e-9)
        far = model.predict_proba([[1e300], [-1e300]])
        assert_allclose(far, [[1, 0], [1, 0]], atol=1e-9)  # the first class is wider


def test_one_classifier_alone_is_tabled_too():
    result = compare({"NB": NaiveBayes()}, ["iris", "wine"], cv=3)
    assert "mean rank" in str(result)
    assert np.isnan(result.friedman().p_f)


def test_a_record_keeps_the_size_that_a_search_found():
    models = {
        "search": LCMClassifierCV([1, 2], [1], n_init=1, discriminative=False, random_state=0),
        "by column": MixtureNaiveBayes(max_components=2, random_state=0),  # has many sizes
        "NB": NaiveBayes(),
    }
    result = compare(models, ["iris"], cv=2)
    assert not result.failures
    fold = result.folds["iris"][0]
    data = load_dataset("iris", container="pandas")
    fitted = models["search"].fit(data.X.iloc[fold.train], data.y[fold.train])
    assert result.record("iris", "search")["chosen"] == {
        "n_latent_": fitted.n_latent_,
        "n_components_": 1,
    }
    assert result.record("iris", "by column")["chosen"] == {}
    assert result.record("iris", "NB")["chosen"] == {}
