"""What a report says, read from its summary and compared with hand calculation."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import chi2_contingency
from sklearn.metrics import roc_auc_score, roc_curve

from latentclass import (
    LatentMixture,
    report,
)
from latentclass.baselines import TAN, NaiveBayes
from latentclass.datasets import load_dataset
from latentclass.reports import _quality as quality
from latentclass.reports._bins import number_bins
from latentclass.reports._pairs import cramers_v
from latentclass.reports._text import cut, decimals_for, listed, number, percent, plain, signed
from latentclass.reports._words import class_word


@pytest.fixture(scope="module")
def toy():
    """40 rows: a number, a category with missing cells, two classes that the number separates."""
    rng = np.random.default_rng(1)
    y = np.repeat(["no", "yes"], 20)
    size = np.where(y == "yes", 3.0, 0.0) + rng.normal(size=40)
    colour = np.where(rng.random(40) < 0.5, "red", "blue").astype(object)
    colour[[3, 4, 25]] = None
    frame = pd.DataFrame({"size": size, "colour": colour}, index=[f"r{k}" for k in range(40)])
    return frame, pd.Series(y, index=frame.index, name="answer")


@pytest.fixture(scope="module")
def page(toy):
    X, y = toy
    return report(NaiveBayes().fit(X, y), X, y)


def test_subject_and_data_are_counted(page, toy):
    X, _ = toy
    found = page.summary
    assert (found.subject.target, found.subject.n_rows, found.subject.n_columns) == (
        "answer",
        40,
        2,
    )
    assert [(one.name, one.n_rows, one.share) for one in found.subject.classes] == [
        ("no", 20, 0.5),
        ("yes", 20, 0.5),
    ]
    size, colour = found.data.columns
    assert (size.name, size.kind, size.n_distinct, size.n_missing) == ("size", "continuous", 40, 0)
    assert (colour.kind, colour.n_distinct, colour.n_missing) == ("binary", 2, 3)
    assert colour.share_missing == 3 / 40
    shares = X["colour"].value_counts(normalize=True)
    assert f"{shares.index[0]} ({100 * shares.iloc[0]:.1f} %)" in colour.range
    assert (found.data.n_missing, found.data.n_complete, found.data.n_patterns) == (3, 37, 1)
    first = found.data.first_rows
    assert [(row.name, row.label) for row in first] == [(f"r{k}", "no") for k in range(5)]
    assert first[0].cells == (
        f"{X['size'].iloc[0]:.2f}".replace("-", "\u2212"),
        X["colour"].iloc[0],
    )
    assert first[3].cells[1] == ""
    np.testing.assert_allclose(colour.shares, shares[["blue", "red"]], rtol=1e-12)
    assert (found.data.patterns[0].columns, found.data.patterns[0].n_rows) == (("colour",), 3)


def test_scores_are_those_of_refits_without_the_row(page, toy):
    """The same folds, fitted by hand: every row is predicted by a model that has not seen it."""
    from latentclass.evaluation import LabelledKFold

    X, y = toy
    proba = np.empty((40, 2))
    for train, test in LabelledKFold(5, shuffle=True, random_state=0).split(X, y):
        fold = NaiveBayes().fit(X.iloc[train], y.iloc[train])
        proba[test] = fold.predict_proba(X.iloc[test])
    truth = (y == "yes").to_numpy().astype(int)
    found = page.summary.quality
    ours = found.scores[0]
    assert ours.name == "NaiveBayes"
    assert ours.accuracy.value == np.mean(proba.argmax(axis=1) == truth)
    np.testing.assert_allclose(
        ours.log_loss.value, -np.log(proba[np.arange(40), truth]).mean(), rtol=1e-9
    )
    assert ours.accuracy.low <= ours.accuracy.value <= ours.accuracy.high
    assert [one.name for one in found.scores[1:]] == [
        "Guessing",
        "Logistic regression",
        "Gradient boosting",
    ]
    assert found.scores[1].accuracy.value == 0.5
    np.testing.assert_allclose(found.scores[1].log_loss.value, np.log(2), rtol=1e-9)
    assert (found.n_rows, found.n_folds) == (40, 5)
    wrong = int((proba.argmax(axis=1) != truth).sum())
    assert found.confusion[0][1] + found.confusion[1][0] == wrong
    np.testing.assert_allclose(
        found.per_class[1].auc, roc_auc_score(truth, proba[:, 1]), rtol=1e-12
    )
    assert sum(part.n_rows for part in found.by_part) == 40
    np.testing.assert_allclose(
        [part.log_loss for part in found.by_part],
        [
            -np.log(proba[test, truth[test]]).mean()
            for _, test in LabelledKFold(5, shuffle=True, random_state=0).split(X, y)
        ],
        rtol=1e-9,
    )
    own = NaiveBayes().fit(X, y)
    assert found.own.accuracy == own.score(X, y)
    of_truth = proba[np.arange(40), truth]
    hardest = np.argsort(of_truth, kind="stable")[: min(wrong, 4)]
    assert [row.name for row in page.summary.rows.hardest] == [f"r{k}" for k in hardest]
    said = proba.argmax(axis=1)
    for k, row in enumerate(page.summary.rows.listed):
        assert row.held_out.predicted == ["no", "yes"][said[k]]
        np.testing.assert_allclose(row.held_out.probability, proba[k].max(), rtol=1e-9)
        np.testing.assert_allclose(row.held_out.of_class, of_truth[k], rtol=1e-9)
    assert {row.held_out.predicted == row.label for row in page.summary.rows.typical} == {True}


def test_new_rows_are_scored_as_they_are(toy):
    X, y = toy
    model = NaiveBayes().fit(X, y)
    found = report(model, X, y, new_rows=True).summary.quality
    assert found.n_folds == 0
    assert found.scores[0].accuracy.value == model.score(X, y)
    assert [one.name for one in found.scores] == ["NaiveBayes", "Guessing"]
    assert found.source.startswith("The rows are new to the model")
    assert (found.own, len(found.by_part)) == (None, 1)


def test_without_labels_there_are_no_scores(toy):
    X, y = toy
    found = report(NaiveBayes().fit(X, y), X)
    assert found.summary.quality is None
    assert found.summary.warnings[0] == (
        "No row has a label, so nothing is known about how good the predictions are."
    )
    assert "cannot be scored" in found.html


def test_weights_are_means_over_rows(page, toy):
    X, y = toy
    model = NaiveBayes().fit(X, y)
    weights = np.abs(model.explain(X).weights).mean(axis=0)
    order = np.argsort(-weights)
    found = page.summary.importance.columns
    assert [one.name for one in found] == [["size", "colour"][j] for j in order]
    np.testing.assert_allclose([one.weight for one in found], weights[order], rtol=1e-12)
    colour = next(one for one in found if one.name == "colour").by_label
    known = X["colour"].notna()
    for place, label in enumerate(("no", "yes")):
        mine = X["colour"][known & (y == label)]
        assert colour.n_rows[place] == len(mine)
        np.testing.assert_allclose(
            colour.shares[place], [(mine == level).mean() for level in colour.bins], rtol=1e-12
        )


def test_effects_are_means_of_answers_to_changed_rows(page, toy):
    X, y = toy
    model = NaiveBayes().fit(X, y)
    size, colour = (
        next(one for one in page.summary.importance.columns if one.name == name)
        for name in ("size", "colour")
    )
    for place, level in enumerate(colour.effect.bins):
        expected = model.predict_proba(X.assign(colour=level)).mean(axis=0)
        found = [line[place] for line in colour.effect.probabilities]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert (size.effect.n_rows, size.effect.bins) == (40, size.by_label.bins)
    bounds = [
        float(name.split(" to ")[0].replace("\u2212", "-")) for name in size.by_label.bins[1:-1]
    ]
    inside = X["size"][(X["size"] >= bounds[1]) & (X["size"] < bounds[2])]
    expected = model.predict_proba(X.assign(size=inside.median())).mean(axis=0)
    np.testing.assert_allclose([line[2] for line in size.effect.probabilities], expected, rtol=1e-9)


def test_columns_that_go_together_are_named():
    rng = np.random.default_rng(0)
    size = rng.normal(size=300)
    X = pd.DataFrame(
        {
            "metres": size,
            "feet": 3.28 * size,
            "tall": np.where(size > 0, "yes", "no"),
            "other": rng.normal(size=300),
        }
    )
    y = rng.integers(0, 2, 300)
    pairs = report(NaiveBayes().fit(X, y), X, y, folds=2).summary.data.pairs
    assert (pairs[0].first, pairs[0].second) == ("metres", "feet")
    assert pairs[0].strength == pytest.approx(1.0)
    assert len(pairs) == 3  # none with "other"


def test_rows_show_their_cells_and_what_would_be_filled_in(toy):
    X, y = toy
    model = NaiveBayes().fit(X, y)
    X = X.copy()
    X.loc["r3", "size"] = 40.0  # its colour is missing
    rows = report(model, X, y).summary.rows
    odd = rows.oddest[0]
    assert odd.name == "r3"
    assert odd.unusual == model.unusual(X, n_draws=500).min()
    assert [(cell.column, cell.cell) for cell in odd.evidence] == [
        ("size", "40.00"),
        ("colour", ""),
    ]
    np.testing.assert_allclose(odd.evidence[0].weight, model.explain(X).weights[3, 0], rtol=1e-12)
    assert odd.evidence[1].filled == model.complete(X).loc["r3", "colour"]
    assert {row.label for row in rows.typical} == {"no", "yes"}
    assert len(rows.listed) == 40


def test_identifiers_are_shown_beside_the_names_of_rows(toy, page):
    X, y = toy
    ids = pd.Series([f"C<{k}>" for k in range(40)], name="customer")
    found = report(NaiveBayes().fit(X, y), X, y, ids=ids)
    rows = found.summary.rows
    assert rows.id_name == "customer"
    for row in (*rows.hardest, *rows.oddest, *rows.typical, *rows.listed):
        assert row.id == f"C<{row.name[1:]}>"
    name = rows.oddest[0].name
    beside = f'<span class="note"><bdi>customer</bdi> <bdi>C&lt;{name[1:]}&gt;</bdi></span>'
    assert f"<h4>Row <bdi>{name}</bdi> {beside}</h4>" in found.html
    assert f'<th scope="row"><bdi>{name}</bdi> {beside}</th>' in found.html
    assert [row.id for row in found.summary.data.first_rows] == [f"C<{k}>" for k in range(5)]
    head = (
        '<th scope="row"><bdi>r1</bdi> <span class="note"><bdi>customer</bdi> <bdi>C&lt;1&gt;</bdi>'
    )
    assert found.html.count(head) == 2  # among the listed rows, and among the first ones
    assert report(NaiveBayes().fit(X, y), X, y, ids=range(40)).summary.rows.id_name == "id"
    assert {row.id for row in page.summary.rows.listed} == {""}
    message = r"^ids has 2 values, but X has 40 rows\. Pass one id per row\.$"
    with pytest.raises(ValueError, match=message):
        report(NaiveBayes().fit(X, y), X, y, ids=["a", "b"])


def test_a_row_with_few_cells_is_odd_or_typical_of_nothing(toy):
    X, y = toy
    X = X.assign(weight=X["size"] + 1.0)
    X.loc["r7", ["size", "colour"]] = None
    model = NaiveBayes().fit(X, y)
    typical = report(model, X, y).summary.rows.typical
    assert len(typical) == 4
    assert all(sum(bool(cell.cell) for cell in row.evidence) >= 2 for row in typical)


def test_an_odd_row_names_its_rare_cells(toy):
    X, y = toy
    X = X.copy()
    X.loc["r3", "size"] = 40.0
    odd = report(NaiveBayes().fit(X, y), X, y).summary.rows.oddest[0]
    assert odd.rare == ("size = 40.00 or more (2.5 % of the rows)",)


@pytest.mark.parametrize("model", [NaiveBayes(), TAN()], ids=["naive Bayes", "TAN"])
def test_the_weights_of_a_row_add_up_to_its_log_odds(model):
    """Also where cells tell partly the same: the rest has a line of its own."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = pd.DataFrame({f"c{j}": y + rng.normal(size=80).round(2) for j in range(9)})
    X["twin"] = X["c0"] + 0.01
    rows = report(model.fit(X, y), X, y, folds=2).summary.rows
    for row in (*rows.hardest, *rows.typical, *rows.listed):
        sum_ = row.balance
        shown = [cell.weight for cell in row.evidence if cell.cell]
        assert sum_.n_others == 10 - len(shown)
        np.testing.assert_allclose(
            sum_.start + sum(shown) + sum_.others + sum_.together, sum_.log_odds, atol=1e-9
        )
        np.testing.assert_allclose(
            np.exp(sum_.log_odds) / (1 + np.exp(sum_.log_odds)), row.probability, rtol=1e-6
        )
    largest = max(abs(row.balance.together) for row in rows.listed)
    assert largest < 1e-6 if isinstance(model, NaiveBayes) else largest > 0.1


def test_the_summary_is_plain_and_the_page_repeats(toy):
    X, y = toy
    model = NaiveBayes().fit(X, y)
    first, second = report(model, X, y), report(model, X, y)
    text = json.dumps(first.summary.to_dict(), allow_nan=False)
    assert json.loads(text)["subject"]["target"] == "answer"
    assert first.html == second.html
    assert report(model, X, y, title="Another").html != first.html


def test_the_model_and_the_table_stay_as_they_were(toy):
    X, y = toy
    model = NaiveBayes().fit(X, y)
    before, copy = model.predict_proba(X), X.copy()
    report(model, X, y)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    pd.testing.assert_frame_equal(X, copy)


@pytest.mark.parametrize(
    "convert",
    [pd.DataFrame.to_numpy, pl.from_pandas, pa.Table.from_pandas],
    ids=["numpy", "polars", "pyarrow"],
)
def test_any_container_gives_the_same_scores(convert):
    iris = load_dataset("iris", container="pandas")
    X = convert(iris.X)
    one = report(NaiveBayes().fit(X, iris.y), X, iris.y, folds=2)
    other = report(NaiveBayes().fit(iris.X, iris.y), iris.X, iris.y, folds=2)
    assert one.summary.quality.scores[0] == other.summary.quality.scores[0]


def test_unlabelled_rows_are_learned_from_but_not_scored(toy):
    X, y = toy
    y = y.where(np.arange(40) % 4 > 0, None)
    found = report(NaiveBayes().fit(X, y), X, y).summary
    assert (found.subject.n_unlabelled, found.quality.n_rows) == (10, 30)
    assert "10 of them without a class" in found.words[0]
    assert sum(row.held_out is None for row in found.rows.listed) == 10


def test_the_weakness_of_a_model_is_said_in_words():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.2, "bad", "good")
    X = pd.DataFrame({"x": (y == "bad") * 0.8 + rng.normal(size=400)})
    page = report(NaiveBayes().fit(X, y), X, y)
    found, (hits, misses) = page.summary, page.summary.quality.confusion[0]
    said = (
        f"Of the {hits + misses} rows that are bad, it finds {hits} "
        f"({100 * hits / (hits + misses):.1f} %), and calls the others good."
    )
    assert said in found.words[0]
    assert found.warnings[0].startswith(
        f"The model finds only {100 * hits / (hits + misses):.1f} % of the rows that are bad. The "
        "class with a probability above 50 % is predicted; a lower cut-off for bad finds"
    )
    assert page.html.count(f"Of the {hits + misses} rows that are bad") == 1
    assert (
        f"Always answering good is right for {100 * np.mean(y == 'good'):.1f} %." in found.words[1]
    )


def test_advice_on_holes_is_for_models_that_do_not_learn_from_them():
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 150)
    holes = (y == "yes") & (rng.random(300) < 0.5)
    X = pd.DataFrame({"x": np.where(holes, np.nan, rng.normal(size=300))})
    for learns in (False, True):
        model = NaiveBayes(missing_indicator=learns).fit(X, y)
        found = report(model, X, y, folds=2).summary.warnings
        told = any("whether a cell is filled in tells about the class" in words for words in found)
        assert told is not learns


def test_classes_that_are_numbers_are_called_so():
    assert [class_word(name) for name in ("2", "2.0", "bad", "x" * 40)] == [
        "class 2",
        "class 2.0",
        "bad",
        "x" * 27 + "…",
    ]


def test_cut_offs_of_the_rarer_class_are_counted(toy):
    X, y = toy
    keep = np.r_[:12, 20:40]
    found = report(NaiveBayes().fit(X, y), X.iloc[keep], y.iloc[keep], new_rows=True).summary
    proba = NaiveBayes().fit(X, y).predict_proba(X.iloc[keep])[:, 0]
    rare = (y.iloc[keep] == "no").to_numpy()
    assert found.quality.sought == 0
    assert len(found.quality.cut_offs) <= 12
    for one in found.quality.cut_offs:
        named = proba >= one.cut_off
        assert (one.n_found, one.n_alarms) == ((named & rare).sum(), (named & ~rare).sum())
        assert (one.found, one.alarms) == (one.n_found / 12, one.n_alarms / 20)
    alarms, hits, _ = roc_curve(rare, proba, drop_intermediate=False)
    np.testing.assert_allclose(found.quality.roc, np.stack([alarms, hits], axis=1), rtol=1e-12)


def test_large_tables_are_scored_on_a_sample(toy, monkeypatch):
    X, y = toy
    monkeypatch.setattr(quality, "MOST_CELLS", 40)
    monkeypatch.setattr(quality, "LEAST_ROWS", 24)
    found = report(NaiveBayes().fit(X, y), X, y).summary.quality
    assert found.n_rows == 24
    assert "with 24 rows drawn from 40" in found.source


def test_a_large_table_is_split_once(toy, monkeypatch):
    X, y = toy
    monkeypatch.setattr(quality, "FEW_CELLS", 79)
    found = report(NaiveBayes().fit(X, y), X, y).summary.quality
    assert (found.n_folds, found.n_rows) == (1, 14)  # a third of 20 rows in each class
    assert found.source.startswith("To save time, one third of the rows was held out once")


# ------------------------------------------------------------------------- small parts


def test_reliability_bins_hold_all_rows():
    confidence = np.linspace(0.5, 1.0, 60)
    bins = quality.reliability(confidence, np.arange(60) % 2 == 0)
    assert [one.n_rows for one in bins] == [15] * 4
    assert bins[0].accuracy.value == 8 / 15
    # Wilson's interval of 5 out of 10 (Brown, Cai and DasGupta 2001 give 0.237 to 0.763)
    found = quality.wilson(5, 10)
    np.testing.assert_allclose([found.low, found.high], [0.2366, 0.7634], atol=5e-5)


def test_roc_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    score, positive = rng.integers(0, 8, 50) / 8, rng.random(50) < 0.4
    alarms, found, _ = roc_curve(positive, score, drop_intermediate=False)
    np.testing.assert_allclose(
        quality.roc_curve(score, positive), np.stack([alarms, found], axis=1), rtol=1e-12
    )
    assert quality.area_under_roc(score, positive) == pytest.approx(roc_auc_score(positive, score))
    assert quality.area_under_roc(score, np.ones(50, dtype=bool)) is None


def test_numbers_have_sensible_digits():
    assert [percent(v) for v in (0.5, 0.0001, 0.99999, 1.0, 0.0, None)] == [
        "50.0 %",
        "< 0.1 %",
        "> 99.9 %",
        "100.0 %",
        "0.0 %",
        "\u2013",
    ]
    assert [decimals_for(v) for v in (250.0, 3.0, 0.05, 0.0)] == [0, 2, 4, 2]
    assert number(-1234.5678, 1) == "\u22121,234.6"
    assert [signed(v) for v in (0.004, -2.0, float("inf"))] == ["+0.00", "\u22122.00", "+∞"]
    assert listed(["a", "b", "c", "d"]) == "a, b, c and 1 more"
    assert cut("abcdef", 4) == "abc…"
    assert plain("a\x00\ud800b") == "a\ufffd\ufffdb"


def test_bins_have_round_bounds_and_hold_all_values():
    values = np.array([0.0, 1.0, 2.5, 9.9, 10.0])
    names, place = number_bins(values, 1)
    assert names[0] == "below 1"
    assert names[-1] == "9 or more"
    assert place.tolist() == [0, 1, 2, 9, 9]
    assert number_bins(np.array([2.0, 2.0]), 0) == (["2"], pytest.approx(np.zeros(2)))


def test_bins_of_whole_numbers_are_whole():
    names, place = number_bins(np.array([0.0, 1.0, 1.0, 3.0]), 0)
    assert names == ["0", "1", "2", "3"]
    assert place.tolist() == [0, 1, 1, 3]
    names, _ = number_bins(np.arange(100.0), 0)
    assert names[:3] == ["below 10", "10 to 20", "20 to 30"]
    names, place = number_bins(np.array([0.0, 1.0] * 5), 0)
    assert names == ["0", "1"]
    assert place.tolist() == [0, 1] * 5


def test_association_is_corrected_cramers_v():
    """Bergsma (2013), from scipy's chi-square, on the rows that have both cells."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 200)
    b = np.where(rng.random(200) < 0.6, a, rng.integers(0, 4, 200))
    c = rng.integers(0, 2, 200)
    b[:20], c[10:40] = -1, -1
    constant = np.zeros(200, dtype=int)
    found = cramers_v(np.stack([a, b, c, constant], axis=1))
    for one, two, value in ((a, b, found[0, 1]), (b, c, found[1, 2]), (a, a, found[0, 0])):
        both = (one >= 0) & (two >= 0)
        table = pd.crosstab(one[both], two[both]).to_numpy()
        n, (r, k) = table.sum(), table.shape
        phi = chi2_contingency(table, correction=False).statistic / n
        phi = max(phi - (r - 1) * (k - 1) / (n - 1), 0)
        fair = min(r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1
        np.testing.assert_allclose(value, np.sqrt(phi / fair), rtol=1e-9)
    assert found[0, 0] == pytest.approx(1.0)
    assert not found[3].any()


# ---------------------------------------------------------------------------- messages


def test_wrong_input_is_refused_before_anything_is_computed(toy, tmp_path):
    X, y = toy
    model = NaiveBayes().fit(X, y)
    with pytest.raises(TypeError, match=r"^model is a LatentMixture, but report needs"):
        report(LatentMixture(2).fit(X), X, y)
    with pytest.raises(ValueError, match=r"^This NaiveBayes is not fitted\. Call its fit first\.$"):
        report(NaiveBayes(), X, y)
    with pytest.raises(ValueError, match=r"^folds=1 must be"):
        report(model, X, y, folds=1)
    with pytest.raises(
        ValueError,
        match=r"^index has 2 names, but X has 40 rows\. Pass one name per row\.$",
    ):
        report(model, X, y, index=[1, 2])
    with pytest.raises(ValueError, match="minimum of 1 is required by report: the table is empty"):
        report(model, X.iloc[:0])
    page = report(model, X, y, folds=2)
    with pytest.raises(FileNotFoundError, match=r"does not exist\. Make it first\.$"):
        page.save(tmp_path / "nowhere" / "page.html")
    assert page.save(tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert repr(page) == "Report('How NaiveBayes predicts answer')"
