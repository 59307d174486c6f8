"""Each flag of `check_table` on a table where it must be and on one where it must not be."""

import datetime
import json
import re
import shlex
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from latentclass import check_table
from latentclass.baselines import NaiveBayes
from latentclass.datasets import load_dataset

N = 300
RNG = np.random.default_rng(0)
Y = RNG.choice(["no", "yes"], N)
NUMBERS = RNG.normal(size=N)
OTHERS = RNG.normal(size=N)
WORDS = RNG.choice(["red", "green", "blue"], N)


def kinds_of(column, y=Y, name="x", **other):
    """Kinds of flags of one column of a table that has two more."""
    frame = pd.DataFrame({"plain": NUMBERS[: len(column)], name: column, "word": "w", **other})
    frame["word"] = WORDS[: len(column)]
    check = check_table(frame, None if y is None else y[: len(column)])
    (found,) = (one for one in check.columns if one.name == name)
    sentences = [flag for flag in check.flags if flag.column == name]
    assert tuple(flag.kind for flag in sentences) == found.flags
    return list(found.flags)


def flags_of(check, kind):
    return [flag for flag in check.flags if flag.kind == kind]


def days(n, form="%Y-%m-%d"):
    start = datetime.date(2020, 1, 1)
    return [
        (start + datetime.timedelta(days=int(i))).strftime(form) for i in RNG.integers(0, 400, n)
    ]


# ------------------------------------------------------------------------------------- columns

LOREM = [
    "lorem",
    "ipsum",
    "dolor",
    "sit",
    "amet",
    "consetetur",
    "sadipscing",
    "elitr",
    "sed",
    "diam",
    "nonumy",
    "eirmod",
]

FIRES = {
    "identifier": [
        ("x", np.arange(N)),  # row numbers
        ("x", RNG.permutation(N) + 1000),  # row numbers of a sorted table
        ("x", np.cumsum(RNG.integers(1, 100, N))),  # rises from row to row
        ("x", [f"user-{i}" for i in range(N)]),
        ("customer_id", RNG.integers(0, 10**6, N)),
        ("customerID", RNG.integers(0, 10**6, N)),
        ("account number", RNG.integers(0, 10**6, N)),
    ],
    "date": [
        ("x", days(N)),
        ("x", days(N, "%d.%m.%Y")),
        ("x", days(N, "%m/%d/%y")),
        ("x", days(N, "%d %b %Y")),
        ("x", days(N, "%B %d, %Y")),
        ("x", days(N, "%Y-%m-%dT12:30:00Z")),
        ("x", [f"{i % 24}:{i % 60:02}" for i in range(N)]),
        ("x", [int(day) for day in days(N, "%Y%m%d")]),
        ("created_at", RNG.integers(1_500_000_000, 1_600_000_000, N)),
        ("x", pd.to_datetime(days(N))),
        ("x", [datetime.date(2020, 1, 1 + i % 28) for i in range(N)]),
    ],
    "codes": [
        ("zone", RNG.integers(1, 5, N)),
        ("product code", RNG.integers(1, 5, N).astype(float)),
        ("sex", RNG.integers(0, 2, N)),
    ],
    "decimal comma": [
        ("x", [f"{v:.2f}".replace(".", ",") for v in NUMBERS]),
        ("x", [f"{2 + abs(v):.3f},50" for v in NUMBERS]),  # thousands: 1.234,50
    ],
    "thousands": [
        ("x", [f"{1000 + 5000 * abs(v):,.2f}" for v in NUMBERS]),
        ("x", [f"{100 + 5000 * abs(v):,.0f}" for v in NUMBERS]),
        ("order_no", [f"{100 + 5000 * abs(v):,.0f}".replace(",", "'") for v in NUMBERS]),
        ("x", [f"{100 + 5000 * abs(v):,.2f}".replace(",", "\u00a0").replace(".", ",")
               for v in NUMBERS]),
        ("x", [f"{9000 * abs(v):,.2f}" if i % 20 else "none" for i, v in enumerate(NUMBERS)]),
    ],
    "numbers as text": [
        ("x", [f"{v:.3f}" for v in NUMBERS]),
    ],
    "numbers and words": [
        ("x", [f"{v:.3f}" if i % 20 else "oops" for i, v in enumerate(NUMBERS)]),
    ],
    "padded numbers": [("x", [f"{i:05}" for i in RNG.integers(0, 60, N)])],
    "constant": [
        ("x", np.ones(N)), ("x", ["a"] * N), ("x", [None, "a"] * (N // 2)), ("x", [True] * N),
    ],
    "empty": [("x", [None] * N), ("x", np.full(N, np.nan))],
    "free text": [("x", [" ".join(RNG.choice(LOREM, 7)) for _ in range(N)])],
    "spellings": [
        ("x", RNG.choice(["basic", "Basic", "plus"], N)),
        ("x", RNG.choice(["part time", "Part-Time", "part_time", "full"], N)),
        ("x", pd.Categorical(RNG.choice(["a b", "a  b ", "c"], N))),
    ],
    "rare levels": [("x", [f"make {i}" for i in RNG.integers(0, 150, N)])],
    "infinite": [("x", np.where(np.arange(N) == 7, np.inf, NUMBERS))],
    "unreadable": [("x", [[1, 2]] * N), ("x", [1, "a"] * (N // 2))],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "name", "column"),
    [(kind, *pair) for kind, pairs in FIRES.items() for pair in pairs],
)
@pytest.mark.parametrize("y", [None, Y], ids=["no labels", "labels"])
def test_a_flag_is_raised(kind, name, column, y):
    assert kinds_of(column, y, name) == [kind]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("x", OTHERS),
        ("x", np.where(RNG.random(N) < 0.3, np.nan, OTHERS)),
        ("x", RNG.integers(0, 10**6, N)),  # amounts: whole, nearly all distinct, not in order
        ("x", np.round(RNG.normal(50, 10, N))),  # ages
        ("x", RNG.poisson(2, N)),  # counts
        ("x", RNG.integers(0, 2, N)),  # yes or no
        ("x", RNG.integers(1990, 2024, N)),  # years
        ("x", RNG.choice(["a", "b", "c"], N)),
        ("x", RNG.choice(["1", "2", "3"], N)),  # a few numbers as text are names
        ("x", pd.Categorical(RNG.choice(["1", "2", "3"], N))),
        ("x", RNG.choice(["90-100", "80-89", "lt-80"], N)),  # ranges are not dates
        ("x", RNG.choice(["april", "may", "june"], N)),
        ("x", RNG.choice(["A", "A+", "A-", "<5", ">5", "-5"], N)),  # signs have a meaning
        ("zip", [f"{i:05}" for i in RNG.integers(0, 15, N)]),  # zeros in front: text on purpose
        ("x", RNG.choice(["very long name of one category", "and of another"], N)),
        ("x", RNG.choice([True, False], N)),
        ("x", RNG.choice([f"make {i}" for i in range(12)], N)),
        ("video", RNG.integers(0, 10**6, N)),  # "id" inside a word
        ("zone", OTHERS),  # the name of codes, but no whole numbers
    ],
)
@pytest.mark.parametrize("y", [None, Y], ids=["no labels", "labels"])
def test_no_flag_is_raised(name, column, y):
    assert kinds_of(column, y, name) == []


def test_spellings_of_categories_and_classes():
    rng = np.random.default_rng(0)
    plan = rng.choice(["basic", "Basic", "BASIC", "plus"], N)
    y = rng.choice(["yes", "Yes", "no"], N, p=[0.5, 0.2, 0.3])
    check = check_table(pd.DataFrame({"plan": plan, "x": OTHERS}), y)
    assert [(flag.column, flag.kind, flag.sentence) for flag in check.flags] == [
        (
            "plan",
            "spellings",
            "has categories that differ only in case or spaces, such as 'BASIC' and 'Basic'. Write "
            "them alike if they mean the same.",
        ),
        (
            "",
            "spellings",
            "There are classes that differ only in case or spaces, such as 'yes' and 'Yes'. Write "
            "them alike if they mean the same.",
        ),
    ]
    assert check.options == []


def test_few_rows_are_no_sign_of_an_identifier():
    assert kinds_of([f"user-{i}" for i in range(10)]) == []
    assert kinds_of(np.arange(10)) == []


def test_codes_are_known_by_what_they_predict():
    rng = np.random.default_rng(3)
    code = rng.integers(0, 8, 2000)
    chance = np.array([0.9, 0.1, 0.8, 0.2, 0.9, 0.1, 0.9, 0.2])[code]
    y = np.where(rng.random(2000) < chance, "yes", "no")
    other = rng.normal(size=2000)
    check = check_table(pd.DataFrame({"x": code, "other": other}), y)
    assert [flag.sentence for flag in check.flags] == [
        "has 8 whole numbers that may be codes: as categories they predict the class better on "
        "held-out rows."
    ]
    assert check.options == ["--categorical", "x"]
    amount = np.minimum(rng.gamma(2, 2, 2000).round(), 15)
    y = np.where(rng.random(2000) < 1 / (1 + np.exp(4 - amount)), "yes", "no")
    assert check_table(pd.DataFrame({"x": amount, "other": other}), y).flags == ()


def test_columns_that_say_the_same():
    frame = pd.DataFrame(
        {
            "a": WORDS,
            "b": pd.Series(WORDS).map({"red": 3, "green": 1, "blue": 2}),  # other names
            "c": RNG.permutation(WORDS),
            "x": NUMBERS,
            "z": NUMBERS.copy(),
            "minus": -NUMBERS,
        }
    )
    flags = flags_of(check_table(frame), "duplicate")
    assert [(flag.column, flag.sentence) for flag in flags] == [
        ("b", "says the same as 'a' in every row."),
        ("z", "says the same as 'x' in every row."),
    ]
    many = [f"name {i}" for i in range(2000)]
    frame = pd.DataFrame({"a": many, "b": many[::-1], "c": many})
    assert [flag.column for flag in flags_of(check_table(frame), "duplicate")] == ["c"]


def test_a_leak():
    frame = pd.DataFrame({"x": NUMBERS, "leak": np.where(Y == "yes", 1.0, 2.0)})
    frame.loc[:2, "leak"] = 3.0  # not quite
    check = check_table(frame, Y)
    (flag,) = check.flags
    score, guess = check.columns[1].accuracy, check.rows.majority
    assert score > 0.98
    assert flag.sentence == (
        f"alone predicts {100 * score:.1f} % of held-out rows (a majority guess: "
        f"{100 * guess:.1f} %). Was it known before the class was?"
    )
    assert (flag.kind, flag.option) == ("leak", "--drop")
    assert check.options == []  # a person decides
    assert check.verdict == "Ready to fit, but look at 'leak' first."
    noisy = np.where(RNG.random(N) < 0.1, RNG.permutation(frame["leak"]), frame["leak"])
    assert check_table(pd.DataFrame({"x": NUMBERS, "good": noisy}), Y).flags == ()


def test_the_target_among_the_columns_is_a_leak():
    check = check_table(pd.DataFrame({"x": NUMBERS, "churn": Y}), Y)
    assert [(flag.column, flag.kind) for flag in check.flags] == [("churn", "leak")]


def test_an_identifier_cannot_leak_by_being_known():
    """Scores are held out: a value that occurs once predicts nothing."""
    check = check_table(pd.DataFrame({"x": [f"user-{i}" for i in range(N)], "w": WORDS}), Y)
    assert check.columns[0].flags == ("identifier",)
    assert check.columns[0].accuracy <= check.rows.majority + 0.01


def test_missing_cells_that_tell_the_class():
    holes = np.where((Y == "yes") & (RNG.random(N) < 0.5), np.nan, NUMBERS)
    check = check_table(pd.DataFrame({"x": holes, "word": WORDS}), Y)
    (flag,) = check.flags
    share = np.isnan(holes[Y == "yes"]).mean()
    pattern = (
        rf"is missing in {100 * share:.0f} % of the rows of class 'yes' but 0 % of class 'no'\. "
        r"So whether a cell is filled in tells about the class: this alone saves \d\d % of the "
        r"held-out log-loss\. If new rows will have such holes too, learn from them: "
        r"--missing-indicator, or missing_indicator=True in Python\."
    )
    assert re.fullmatch(pattern, flag.sentence)
    assert check.verdict == "Ready to fit, but look at 'x' first."
    random = np.where(RNG.random(N) < 0.3, np.nan, NUMBERS)
    assert check_table(pd.DataFrame({"x": random, "word": WORDS}), Y).flags == ()


def test_the_accuracy_of_a_column_is_that_of_naive_bayes_on_the_same_folds():
    """With many rows, frequencies of levels are what naive Bayes with one column has."""
    from latentclass.tables._scores import draw_folds

    rng = np.random.default_rng(1)
    code = rng.integers(0, 3, 1000)
    level = np.array(["a", "b", "c"])[code]
    y = np.where(rng.random(1000) < np.array([0.2, 0.5, 0.9])[code], "yes", "no")
    ours = check_table(pd.DataFrame({"x": level}), y).columns[0].accuracy
    folds = draw_folds(np.unique(y, return_inverse=True)[1])
    X = pd.DataFrame({"x": level})
    hits = []
    for fold in range(5):
        model = NaiveBayes(calibrate=False).fit(X[folds != fold], y[folds != fold])
        hits.append(model.predict(X[folds == fold]) == y[folds == fold])
    assert ours == np.mean(np.concatenate(hits))


# --------------------------------------------------------------------------- rows and labels


def test_rows_and_classes_are_counted():
    y = np.array(["b"] * 30 + ["a"] * 50 + ["c"] * 20, dtype=object)
    y[:5] = None
    frame = pd.DataFrame({"x": np.r_[NUMBERS[:98], NUMBERS[97], NUMBERS[97]]})
    rows = check_table(frame, y).rows
    assert (rows.n_rows, rows.n_duplicates, rows.n_unlabelled, rows.n_scored) == (100, 2, 5, 95)
    assert rows.classes == (("a", 50), ("b", 25), ("c", 20))
    assert rows.majority == 50 / 95


def test_duplicate_rows():
    frame = pd.DataFrame({"x": NUMBERS, "w": WORDS})
    assert flags_of(check_table(frame), "duplicate rows") == []
    twice = pd.concat([frame, frame.iloc[:60]])
    (flag,) = flags_of(check_table(twice), "duplicate rows")
    assert str(flag) == "60 rows repeat another row in every cell."
    y = np.r_[Y, np.where(Y[:60] == "yes", "no", "yes")]
    assert check_table(twice, y).rows.n_duplicates == 0  # their labels differ
    coarse = pd.DataFrame({"a": RNG.integers(0, 3, N), "b": WORDS})  # natural
    assert check_table(coarse).rows.n_duplicates > 200
    assert flags_of(check_table(coarse), "duplicate rows") == []
    holes = frame.assign(x=np.where(RNG.random(N) < 0.5, np.nan, NUMBERS))  # natural too
    assert check_table(holes).rows.n_duplicates > 100
    assert flags_of(check_table(holes), "duplicate rows") == []


FRAME = pd.DataFrame({"x": NUMBERS, "w": WORDS})


@pytest.mark.parametrize(
    ("y", "kind", "sentence"),
    [
        (np.where(np.arange(N) < 7, None, Y.astype(object)), "unlabelled",
         "7 rows without a label: models can learn from them."),
        (np.where(np.arange(N) < 4, "rare", Y.astype(object)), "few rows",
         "1 class has fewer than 10 rows: 'rare' (4)."),
        (np.where(np.arange(N) < 4, "rare", np.where(np.arange(N) < 6, "odd", Y.astype(object))),
         "few rows", "2 classes have fewer than 10 rows: 'rare' (4), 'odd' (2)."),
        (np.arange(N) / 2, "numeric target", "The target has 300 distinct numbers: it looks like a "
         "quantity. Cut it into ranges, or use a regression."),
        (["yes"] * N, "one class", "All labels are 'yes': there is nothing to tell apart."),
        ([None] * N, "no labels", "No row has a label. Label some rows of each class."),
        (np.where(np.arange(N) < 20, "NaN", Y), "label nan", "The label 'NaN' is text and counts "
         "as a class. If it means that the label is missing, write None or NaN."),
        (np.where(np.arange(N) < 20, -1, Y == "yes"), "label -1", "The label -1 in 20 rows is read "
         "as unlabelled. If it is a class, write labels as text."),
    ],
)  # fmt: skip
def test_labels(y, kind, sentence):
    check = check_table(FRAME, y)
    assert [(flag.kind, str(flag)) for flag in check.flags] == [(kind, sentence)]


@pytest.mark.parametrize(
    "y", [Y, RNG.integers(0, 2, N), RNG.integers(0, 10, N), [f"c{i % 25}" for i in range(N)],
          np.where(Y == "yes", 1, -1), Y == "yes"]
)  # fmt: skip
def test_good_labels(y):
    assert check_table(FRAME, y).flags == ()


def test_verdicts():
    assert check_table(FRAME, Y).verdict == "Ready to fit."
    assert check_table(FRAME).verdict == "Ready to fit. No labels were looked at."
    frame = FRAME.assign(id=np.arange(N), zone=RNG.integers(1, 5, N))
    check = check_table(frame, Y)
    assert check.verdict == "Ready to fit with these options."
    assert check.options == ["--drop", "id", "--categorical", "zone"]
    assert check_table(FRAME, ["yes"] * N).verdict == (
        "Cannot be fitted yet: All labels are 'yes': there is nothing to tell apart."
    )
    assert check_table(FRAME.assign(x=np.inf), Y).verdict == (
        "Cannot be fitted yet: x is infinite in 300 rows, which models refuse. Empty these cells."
    )
    assert check_table(FRAME, NUMBERS).verdict == (
        "The target looks like a quantity, not like classes."
    )


def test_whether_a_table_can_be_fitted_is_a_value():
    assert check_table(FRAME, Y).can_be_fitted
    assert check_table(FRAME).can_be_fitted
    assert check_table(FRAME, NUMBERS).can_be_fitted
    assert not check_table(FRAME, ["yes"] * N).can_be_fitted
    assert not check_table(FRAME, [None] * N).can_be_fitted
    assert not check_table(FRAME.assign(x=np.inf), Y).can_be_fitted
    dates = FRAME.assign(when=pd.to_datetime(days(N)))  # the options drop it
    assert check_table(dates, Y).can_be_fitted


def test_words_between_numbers_have_no_option_and_are_named():
    found = check_table(FRAME.assign(x=[f"{v:.3f}" for v in NUMBERS[:-1]] + ["oops"]), Y)
    (flag,) = found.flags
    assert flag.sentence == (
        "holds numbers beside 'oops' (300th row), and is read as categories. Correct such cells, "
        "or leave them empty. If it means that nothing is known, --missing oops says so."
    )
    assert (flag.option, found.options) == ("", [])
    assert found.verdict == "Ready to fit, but look at 'x' first."


def test_thousands_are_for_a_person_to_settle():
    plain = check_table(FRAME.assign(x=[f"{5000 + 900 * v:,.0f}" for v in NUMBERS]), Y)
    (flag,) = plain.flags
    assert flag.sentence.startswith("holds numbers with thousands separators, such as '")
    assert flag.sentence.endswith(
        ". If the comma marks thousands, read it with a decimal point (--decimal x=.)."
    )
    assert (flag.option, plain.options) == ("--decimal x=.", [])
    swiss = [f"{5000 + 900 * v:,.0f}".replace(",", "'") for v in NUMBERS]
    (flag,) = check_table(FRAME.assign(x=swiss), Y).flags
    assert flag.sentence.endswith('". Write them without.')
    assert flag.option == ""


def test_a_decimal_comma_is_no_help_for_words():
    cells = [f"{v:.2f}".replace(".", ",") if i % 20 else "n/a" for i, v in enumerate(NUMBERS)]
    check = check_table(FRAME.assign(x=cells), Y)
    flag = next(flag for flag in check.flags if flag.column == "x")
    assert flag.kind == "decimal comma"
    assert flag.sentence.endswith(
        ", beside 'n/a' (1st row). Correct such cells, or leave them empty. If it means that "
        "nothing is known, --missing n/a says so."
    )
    assert check.options == []


def test_words_are_named_with_their_rows():
    cells = [str(v) for v in NUMBERS]
    cells[11], cells[100], cells[3] = "n/a", "none", "none"
    check = check_table(FRAME.assign(x=cells), Y)
    flag = next(flag for flag in check.flags if flag.column == "x")
    assert flag.kind == "numbers and words"
    assert flag.sentence == (
        "holds numbers beside 'none' (4th row), 'n/a' (12th row), and is read as categories. "
        "Correct such cells, or leave them empty."
    )


def test_options_say_each_thing_once():
    comma = [f"{v:.2f}".replace(".", ",") for v in NUMBERS]
    frame = FRAME.assign(a=comma, b=comma[::-1], **{"-z": 1, "c": 1})
    check = check_table(frame, Y)
    assert check.options == ["--drop=-z", "--drop", "c", "--decimal", "a=,", "--decimal", "b=,"]
    padded = FRAME.assign(zip=[f"{i:05}" for i in RNG.integers(0, 60, N)])
    check = check_table(padded, Y)  # a person knows whether these are quantities
    assert [flag.option for flag in check.flags] == ["--continuous"]
    assert (check.options, check.verdict) == ([], "Ready to fit.")


# ------------------------------------------------------------------------------ containers


def test_every_container_gives_the_same():
    frame = pd.DataFrame(
        {
            "id": np.arange(N),
            "x": np.where(RNG.random(N) < 0.1, np.nan, NUMBERS),
            "w": WORDS,
            "day": days(N),
            "b": RNG.random(N) < 0.5,
        }
    )
    table = pa.Table.from_pandas(frame)
    expected = str(check_table(frame, Y))
    assert str(check_table(table, Y)) == expected
    assert str(check_table(pl.from_arrow(table), Y)) == expected
    assert str(check_table(table, pa.array(Y))) == expected
    for with_y in (frame.assign(y=Y), pa.Table.from_pandas(frame.assign(y=Y))):
        assert str(check_table(with_y, target="y")) == expected


def test_arrays_and_sparse_tables():
    X = np.column_stack([NUMBERS, np.arange(N), RNG.integers(0, 2, N)])
    expected = check_table(X, Y)
    assert [column.name for column in expected.columns] == ["x0", "x1", "x2"]
    assert [column.flags for column in expected.columns] == [(), ("identifier",), ()]
    assert str(check_table(X.tolist(), Y)) == str(expected)
    assert str(check_table(sp.csr_array(X), Y)) == str(expected)


def test_dates_of_every_container():
    stamps = pd.to_datetime(days(N))
    frame = pd.DataFrame({"x": NUMBERS, "when": stamps})
    for table in (frame, pa.Table.from_pandas(frame), pl.from_arrow(pa.Table.from_pandas(frame))):
        check = check_table(table, Y)
        assert check.columns[1].kind == "unreadable"
        assert [(flag.column, flag.kind) for flag in check.flags] == [("when", "date")]
        assert check.options == ["--drop", "when"]
        assert check.verdict == "Ready to fit with these options."


def test_a_numeric_target_column():
    check = check_table(FRAME.assign(y=np.where(Y == "yes", 1.0, np.nan)), target="y")
    assert check.rows.classes == ((1, int((Y == "yes").sum())),)
    assert check.rows.n_unlabelled == int((Y == "no").sum())


def test_wrong_arguments():
    with pytest.raises(ValueError, match=r"^Pass the labels as y or name their column as target, "
                       r"not both\.$"):  # fmt: skip
        check_table(FRAME, Y, target="w")
    with pytest.raises(
        ValueError, match=r"^target='z' is not a column of X\. Its columns are 'x', 'w'\.$"
    ):
        check_table(FRAME, target="z")
    with pytest.raises(
        ValueError, match=r"^X has 300 rows, but y has 3 labels\. Pass one label per row\.$"
    ):
        check_table(FRAME, ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"^X has no column besides the target 'w'\.$"):
        check_table(FRAME[["w"]], target="w")


def test_scores_of_a_large_table_come_from_a_sample_that_is_told():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=12_000), "w": rng.choice(["a", "b"], 12_000)})
    y = rng.choice(["no", "yes"], 12_000)
    check = check_table(frame, y)
    assert check.rows.n_scored == 10_000
    assert "(a sample of 10,000 rows)" in str(check)
    assert str(check) == str(check_table(frame, y))  # the same each time


# ---------------------------------------------------------------------------------- showing


def test_the_text():
    frame = pd.DataFrame({"id": range(40), "w": ["a", "b"] * 20, "x": [0.5, None] * 20})
    assert str(check_table(frame)) == (
        "40 rows, 3 columns\n"
        "\n"
        "column  kind        distinct  missing  example  flags\n"
        "id      continuous        40        -  0        identifier\n"
        "w       binary             2        -  a\n"
        "x       continuous         1   50.0 %  0.5      constant\n"
        "\n"
        "- id looks like an identifier: 40 distinct values in 40 rows. A model learns nothing "
        "from it for new rows.\n"
        "- x has a single value, 0.5.\n"
        "\n"
        "Options: --drop id --drop x\n"
        "Ready to fit with these options. No labels were looked at."
    )


def test_many_flags_of_a_kind_are_named_together():
    frame = pd.DataFrame({f"c{i}": [1.0] * N for i in range(100)} | {"x": NUMBERS})
    text = str(check_table(frame, Y))
    assert "- c0 has a single value, 1.\n- 99 more columns likewise (constant): c1, c2," in text
    assert "\n... and 41 more columns\n" in text
    assert len(text.splitlines()) < 80


def test_as_json():
    frame = FRAME.assign(id=np.arange(N), when=pd.to_datetime(days(N)), big=np.float32(2.5))
    check = check_table(frame, np.where(Y == "yes", 1, 0))
    found = json.loads(json.dumps(check.to_dict(), allow_nan=False))
    assert found == check.to_dict()
    assert list(found) == ["columns", "flags", "rows", "options", "can_be_fitted", "verdict"]
    assert found["columns"][2]["flags"] == ["identifier"]
    assert found["flags"][0]["option"] == "--drop"
    assert {one["label"] for one in found["rows"]["classes"]} == {0, 1}


HOSTILE = [
    "<script>alert(1)</script>",
    "\x1b[31mred\x07",
    "\u202eevil",
    "a\nb\r",
    "<img src=x onerror=alert(1)>",
    "x" * 10_000,
    "&lt;b>",
    "' OR 1=1; $(reboot)",
    "--drop",
    "{{7*7}}",
]


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, attrs))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_from_a_table_reaches_terminal_or_page_as_it_is(text):
    frame = pd.DataFrame(
        {
            text: [text] * N,  # constant
            text + "2": [text + str(i) for i in range(N)],  # identifier
            text + "3": np.where(Y == "yes", text, "b"),  # leak
            text + "4": np.where(Y == "yes", None, text + "q"),  # telling
            text + "5": [[text]] * N,  # unreadable
            text + "6": [f"{v:.3f}" if i % 20 else text for i, v in enumerate(NUMBERS)],
            text + "7": [text + " many words and more " + str(i) for i in range(N)],
            text + " id": np.arange(N),
        }
    )
    check = check_table(frame, np.where(Y == "yes", text, text + "no"))
    assert len(check.flags) >= 8
    shown = str(check)
    assert shown.replace("\n", "").isprintable()
    assert max(map(len, shown.splitlines())) < 2200
    tags = Tags()
    tags.feed(check._repr_html_())
    allowed = {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
    assert {tag for tag, _ in tags.found} <= allowed
    assert all(not attributes for _, attributes in tags.found)
    json.dumps(check.to_dict())
    assert shlex.split(shlex.join(check.options)) == check.options


def test_the_page_has_the_same_cells():
    check = check_table(FRAME.assign(id=np.arange(N)), Y)
    page = check._repr_html_()
    assert page.count("<tr>") == 4
    assert "<td>id</td><td>continuous</td><td>300</td>" in page
    assert "<li>id looks like an identifier" in page
    assert "<p>Ready to fit with these options.</p>" in page


# ------------------------------------------------------------------------- well-known tables


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("iris", []),
        ("wine", []),
        ("waveform-21", []),
        ("balance-scale", []),
        ("corral", []),
    ],
)
def test_well_known_tables_that_need_no_file(name, flags):
    data = load_dataset(name)
    check = check_table(data.X, data.y)
    assert [(flag.column, flag.kind) for flag in check.flags] == flags
