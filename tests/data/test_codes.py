"""Codes that a model learned as text or numbers are found in either form."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from latentclass.baselines import NaiveBayes

CODES = ["101", "102", "103"]
TEXT = pd.DataFrame({"code": CODES * 8, "size": np.tile([1.0, 2.0, 4.0, 8.0], 6)})
Y = np.array([0, 1, 1, 0, 0, 1] * 4)
NUMBERS = TEXT.assign(code=TEXT["code"].astype(int))

FORMS = {
    "int": NUMBERS,
    "float": NUMBERS.astype({"code": float}),
    "text": TEXT,
    "nullable": NUMBERS.astype({"code": "Int64"}),
    "nullable text": TEXT.astype({"code": "string"}),
    "category of numbers": NUMBERS.astype({"code": "category"}),
    "category of text": TEXT.astype({"code": "category"}),
    "objects": NUMBERS.astype({"code": object}),
    "polars": pl.from_pandas(NUMBERS),
    "polars text": pl.from_pandas(TEXT),
    "pyarrow": pa.Table.from_pandas(NUMBERS),
    "dicts": NUMBERS.to_dict("records"),
    "dicts of text": TEXT.to_dict("records"),
}


@pytest.fixture(scope="module", params=["text", "numbers"])
def model(request):
    X = TEXT if request.param == "text" else NUMBERS
    return NaiveBayes(categorical_features=["code"], handle_unknown="error").fit(X, Y)


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_have_the_same_probabilities(model, form):
    expected = model.predict_proba(TEXT if model.schema_.columns[0].values[0] == "101" else NUMBERS)
    assert model.predict_proba(FORMS[form]).tolist() == expected.tolist()
    lost = model.predict_proba(TEXT.assign(code=None))
    assert not np.allclose(lost, expected)


@pytest.mark.parametrize("rows", [NUMBERS.to_numpy(), NUMBERS.to_numpy(object), TEXT.to_numpy()])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_arrays_too(model, rows):
    assert model.predict_proba(rows).tolist() == model.predict_proba(TEXT).tolist()


def test_an_unknown_code_is_still_refused(model):
    with pytest.raises(ValueError, match="Row 0, column 'code' holds 104, which was not seen"):
        model.predict([{"code": 104, "size": 1.0}])
