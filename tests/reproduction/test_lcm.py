"""The LCM paper's tables and figures."""

from statistics import fmean

import numpy as np
import pytest
from scipy import stats

from latentclass import LCMClassifierCV
from latentclass.baselines import NaiveBayes, majority
from latentclass.datasets import load_dataset
from latentclass.datasets._facts import paper_uses
from latentclass.evaluation import compare
from latentclass.reproduction import _lcm, _lcm_figures
from latentclass.reproduction._published import published_cells, read_published
from latentclass.reproduction._records import NOT_RUN, Record
from latentclass.reproduction._work import Work


@pytest.fixture
def work(tmp_path):
    return Work("quick", tmp_path, "lcm-table-1")


@pytest.mark.parametrize("column", _lcm.IN_TABLE_3)
def test_columns_of_table_3_have_the_averages_of_table_2(column):
    cells = published_cells("lcm_table3_accuracy", "dataset", "classifier")
    found = [float(line["accuracy"]) for (_, name), line in cells.items() if name == column]
    summary = {line["classifier"]: line for line in read_published("lcm_table2_summary")}
    assert fmean(found) == pytest.approx(float(summary[column]["average_accuracy"]), abs=0.06)


def test_the_data_sets_are_those_of_the_paper():
    named = {use.called for use in paper_uses()["lcm"]}
    for table in ("lcm_table1_datasets", "lcm_table3_accuracy"):
        assert {line["dataset"] for line in read_published(table)} == named


@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_every_classifier_of_the_paper_is_there(profile, tmp_path):
    made = _lcm.baselines() | _lcm.models(Work(profile, tmp_path, "lcm-table-2"), "wine")
    assert set(made) == set(_lcm.NAMES)
    assert len(_lcm.NAMES) == 16


def test_the_profile_paper_has_the_settings_of_the_paper(tmp_path):
    models = _lcm.models(Work("paper", tmp_path, "lcm-table-3"), "sonar")
    published = LCMClassifierCV.as_published(random_state=0).get_params()
    changed = {
        name: {key for key, value in model.get_params().items() if value != published[key]}
        for name, model in models.items()
    }
    assert changed == {
        "LCM(q)": {"n_components", "search"},
        "LCM(q)/S": {"n_components", "search", "structure"},
        "LCM(q,m;T)": set(),
        "LCM(q,m;U)": {"noise"},
        "LCM(q,m;T)/S": {"structure"},
    }


def test_marks_are_those_of_the_corrected_t_test():
    iris = load_dataset("iris", container="pandas")
    models = {"NB": NaiveBayes(), "one column": NaiveBayes(), "majority": majority()}
    part = [("iris", iris.X.iloc[:, [1]], iris.y)]
    whole = compare({"NB": models["NB"]}, ["iris"], cv=5)
    poor = compare({name: models[name] for name in ("one column", "majority")}, part, cv=5)
    marks = _lcm.marks_against_best([whole, poor])
    best = whole.fold_scores("iris", "accuracy")[:, 0]
    for place, name in enumerate(poor.classifiers):
        d = poor.fold_scores("iris", "accuracy")[:, place] - best
        t = d.mean() / np.sqrt((1 / 5 + 30 / 120) * d.var(ddof=1))
        p_value = 2 * stats.t.sf(abs(t), 4)
        assert marks.get(name, "") == ("*" if p_value <= 0.01 else "-" if p_value <= 0.10 else "")
    assert marks["majority"] == "*"
    assert "NB" not in marks


def test_table_2_counts_ties_for_all(monkeypatch, work):
    accuracy = dict.fromkeys(_lcm.NAMES, 50.0) | {"NB": 90.0, "NB/M": 90.04, "k-NN": 80.0}
    marks = {"FA/BIC": "*", "PCA/n": "-"}

    def accuracies(work, names):
        for row in ("first", "second"):
            for name in names:
                mark = marks.get(name, "") if row == "first" else ""
                value = f"{accuracy[name]:.2f}"
                yield Record(row, name, "accuracy, %", value, significance=mark)
        yield Record("third", "NB", "accuracy, %", "10.0")
        yield Record("third", "k-NN", "accuracy, %", note=NOT_RUN)

    monkeypatch.setattr(_lcm, "accuracies", accuracies)
    cells = {(one.row, one.column): one for one in _lcm.table_2(work)}
    counts = ("best", "top 3", "poor, 10 %", "poor, 1 %")
    found = {name: [int(cells[name, count].value) for count in counts] for name in _lcm.NAMES}
    assert found["NB"] == found["NB/M"] == [2, 2, 0, 0]  # 90.0 and 90.04 print alike
    assert found["k-NN"] == [0, 2, 0, 0]
    assert found["FA/BIC"] == [0, 0, 1, 1]
    assert found["PCA/n"] == [0, 0, 1, 0]
    assert cells["NB", "average"].value == "90.0"  # of the sets that are finished
    assert cells["NB", "average"].published == "71.5"


def test_table_1_has_the_sizes_that_were_found(monkeypatch, work):
    search = {"n_init": 2, "random_state": 0, "search": "exhaustive"}
    models = {
        "LCM(q)": LCMClassifierCV.as_published(n_latent=[1, 2, 3], n_components=1, **search),
        "LCM(q,m;T)": LCMClassifierCV.as_published(n_latent=[1], n_components=[1, 2], **search),
    }
    monkeypatch.setattr(_lcm, "models", lambda *_: models)
    uses = [use for use in paper_uses()["lcm"] if use.called == "iris"]
    monkeypatch.setattr(_lcm, "sets_of", lambda _: uses)
    cells = {one.column: one for one in _lcm.table_1(work)}
    assert (cells["attributes"].value, cells["classes"].value) == ("4", "3")
    assert cells["q"].published == "3 - 3 - 6"
    iris = load_dataset("iris/uci", container="pandas")
    result = work.compare(models, [iris], cv=5)  # other rows of the store: other columns
    sizes = []
    for fold in result.folds["iris/uci"]:
        model = models["LCM(q)"].fit(iris.X.iloc[fold.train], iris.y[fold.train])
        sizes.append(model.n_latent_)
    assert cells["q"].value == f"{min(sizes)} - {sorted(sizes)[2]} - {max(sizes)}"
    stored = Work("quick", work.out, "lcm-table-1", only_stored=True)
    assert [one.value for one in _lcm.table_1(stored)] == [one.value for one in cells.values()]
    work.store.unlink()
    notes = [one.note for one in _lcm.table_1(stored) if one.column in ("q", "|M|")]
    assert notes == [NOT_RUN, NOT_RUN]


def test_figures_1_and_2_show_that_the_correlation_goes(work):
    for figure, low, high in ((_lcm_figures.figure_1, 0.95, 1), (_lcm_figures.figure_2, 0, 1e-9)):
        records = list(figure(work))
        found = [float(one.value) for one in records if one.statistic == "correlation"]
        assert len(found) == 4
        assert all(low <= value <= high for value in found)
    assert (work.out / "lcm-table-1-quick.png").exists()


def test_figure_3_is_a_density_with_two_components(work):
    records = {one.row: one for one in _lcm_figures.figure_3(work)}
    assert records["components of the mixture"].value == "2"
    gaussian = float(records["Gaussian"].value)
    X, y = _lcm_figures.float_glass()
    silicon = X["Si"][y == "float"]
    expected = stats.norm.logpdf(silicon, silicon.mean(), silicon.std(ddof=0)).mean()
    assert gaussian == pytest.approx(expected, abs=0.002)
    assert float(records["mixture with the best BIC"].value) > gaussian


def test_figure_5_has_mardias_skewness(work):
    records = {one.row: one for one in _lcm_figures.figure_5(work)}
    X, y = _lcm_figures.float_glass()
    points = X.to_numpy()[y == "float"]
    inverse = np.linalg.inv(np.cov(points.T, ddof=0))
    centre = points.mean(axis=0)
    cubes = [((a - centre) @ inverse @ (b - centre)) ** 3 for a in points for b in points]
    assert float(records["Mardia's skewness, 0 in a Gaussian"].value) == pytest.approx(
        fmean(cubes), abs=0.006
    )
    p_value = stats.chi2.sf(len(points) * fmean(cubes) / 6, 4)
    assert float(records["its p-value"].value) == pytest.approx(p_value, rel=0.06)
