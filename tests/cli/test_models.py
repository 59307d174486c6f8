"""Models by name, and their settings."""

import pytest
from command_runs import run

import latentclass
from latentclass.cli._models import MODELS, make_model, read_settings, read_value


def test_every_classifier_of_the_library_has_a_name():
    named = {attribute for _, attribute in MODELS.values()}
    own = {name for name in latentclass.__all__ if name.endswith(("Classifier", "ClassifierCV"))}
    assert own <= named
    for name in MODELS:
        assert getattr(make_model(name, 7), "random_state", 7) == 7


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("true", True),
        ("None", None),
        ("auto", "auto"),
        ("[1, 2]", [1, 2]),
        ("a=b", "a=b"),
        ("(" * 500, "(" * 500),
    ],
)
def test_values_of_settings(text, value):
    assert read_value(text) == value


def test_settings_are_parameters_of_the_model():
    assert read_settings("lcm", ["n_latent=3", "noise=tied"]) == {"n_latent": 3, "noise": "tied"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "n_latent"],
         "--set 'n_latent' is not of the form name=value, such as --set n_latent=3."),
        (["--set", "random_state=3"], "--set random_state is not for the command line: use"),
        (["--set", "alpa=3"],
         "There is no parameter for naive-bayes called 'alpa'. Did you mean 'alpha'?"),
        (["--model", "naive-bays"], "There is no model 'naive-bays'. Did you mean 'naive-bayes'?"),
        (["--budget", "0"], "The budget must be above 0, such as 60s, 2m or 1h; or none."),
        (["--budget", "soon"], "'soon' is not a time. Write 60s, 2m, 1h, or none."),
    ],
)  # fmt: skip
def test_wrong_usage_is_refused_before_anything_is_read(tmp_path, arguments, message):
    ended = run(
        "fit", "none.csv", "-t", "y", "-m", "naive-bayes", "-o", tmp_path / "m.lc", *arguments
    )
    assert ended.code == 2
    assert message in ended.err
    assert ended.err.endswith("See: latentclass fit --help\n")
    assert ended.out == ""
