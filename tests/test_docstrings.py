"""Docstrings of all public estimators: what several share has the same words.

The model is scikit-learn's `assert_docstring_consistency`. Docstrings are written out in full;
this file is the one place that says which words they use.
"""

import inspect
import re
from collections import defaultdict

import pytest

from estimators import ESTIMATORS

# What a parameter or fitted attribute does. Where it works in several ways, each has its words.
SHARED = {
    "accelerate": ("Extrapolate EM steps (SQUAREM). The objective still never falls.",),
    "alpha": (
        "Pseudo-count of every category (Laplace smoothing); 0 is maximum likelihood.",
        "Pseudo-count of every category at the point where all latent variables are 0.",
    ),
    "bound_steps": (
        "Maximum number of steps on the bound of a row in each EM iteration. One is enough for the"
        " bound to rise; further ones end when a step gains no more than a share of 1e-3.",
    ),
    "calibrate": (
        "Learn a temperature for the evidence on held-out folds. True: five folds of all "
        'rows, kept if it lowers the held-out log-loss. "auto": only as many folds as are '
        "enough, of a sample if there are many rows, with a prior that expects the model to "
        "be too sure.",
        "Learn a temperature for the evidence on held-out folds. True: five folds of all "
        'rows, kept if it lowers the held-out log-loss. "auto": only as many folds as are '
        "enough, of a sample if there are many rows, with a prior that expects the model to "
        "be too sure. The folds use the size that was found.",
    ),
    "categorical_features": (
        'Which columns are discrete. "from_dtype": those of text, category or boolean type; '
        "None: none; or a list of names or positions, or a mask.",
        'Which columns are discrete. "from_dtype": those of text, category or boolean type; '
        "None: none; or a list of names or positions, or a mask. All other columns are cut "
        "into bins (see Notes).",
        'Which columns are discrete. "from_dtype": those of text, category or boolean type, '
        "and numbers with only two whole values (in a sparse table, only if every column "
        "holds just 0 and 1); None: none; or a list of names or positions, or a mask.",
    ),
    "cv": (
        "Number of folds, stratified by class and assigned by what the rows hold; or a "
        "scikit-learn splitter, or a list of (training, test) row numbers in which no row is "
        "tested twice, which are used as they are. Rows without a label are always learned from.",
    ),
    "discriminative": (
        "After EM, raise the probability of the labels given the columns by gradient steps. "
        "The number of steps and the temperature are chosen on held-out rows.",
        "After EM, raise the probability of the labels given the columns by gradient steps. "
        "The number of steps, the temperature and a share of labels that are drawn at random are "
        "chosen on held-out rows: a fifth of the rows at a time, up to five times, until 500 rows "
        "have been held out. Without held-out rows (a class with fewer than five) no steps are "
        "taken. False is EM alone, the maximum of the likelihood with its prior.",
    ),
    "drop_starts": (
        "Drop the worse half of the starts after 1, 2, 4, ... iterations, until one is left. If "
        "false, all run to the end before one is kept.",
        "Drop the worse half of the starts after 1, 2, 4, ... iterations, until one is left. If "
        'false, all run to the end before one is kept. `select="average"` never drops any.',
    ),
    "columns": (
        'How prediction finds the columns of `fit` in a table with names. "by_name": in any order; '
        'columns that are lacking count as missing, others are ignored, with a warning. "strict": '
        "the same columns in the same order, or an error. See the page about tables.",
    ),
    "missing_indicator": (
        "Learn from where cells are missing, too: each column with holes in `fit` gets a "
        'companion, the yes/no column "<name> is missing". See the page about informative holes.',
    ),
    "handle_unknown": (
        "Whether a category not seen in `fit` is read as missing or raises an error.",
        "What a category not seen in `fit` does: count as missing, raise an error, or, with "
        '"smooth", count as one more category of its column, which no training row has.',
    ),
    "max_iter": ("Maximum number of EM iterations.",),
    "n_init": (
        "Number of EM starts if there are unlabelled rows. The first begins with the labelled"
        " rows alone, each of the others with a random re-weighting of them.",
        "Number of random starts. They run together in one batch.",
        "Number of random starts, for each candidate in each fold and for the model itself.",
        "Number of starts, near rows that are drawn far apart. One component needs a single start.",
    ),
    "n_jobs": (
        "Number of threads over blocks of rows. The result does not depend on it.",
        "Number of threads over blocks of rows, or over starts. The result does not depend on it.",
        "Number of candidates tried at once, on threads. The result does not depend on it.",
    ),
    "noise": (
        '"tied": one noise variance for each continuous column. "untied": one for each column'
        " in each component.",
    ),
    "offset": (
        "Give the columns an offset in addition to the latent variables. Without it the class"
        " means lie in the plane that the loadings span.",
    ),
    "power_transform": (
        "Bring continuous columns nearer to a Gaussian (Yeo and Johnson's power transform), so "
        'that a long tail does not outweigh all other columns. "auto" does so if it lowers the '
        "log-loss on held-out rows, or if none can be held out.",
    ),
    "power_transform_": ("Whether continuous columns were transformed.",),
    "predict_method": (
        'How p(x | class) is computed in prediction. "bound": by its lower bound. '
        '"importance": nearly exactly, by 256 points around the posterior of the latent '
        'variables. "quadrature": exactly to many digits, by a grid of points; for `n_latent`'
        " up to 3.",
    ),
    "prior": (
        "MAP smoothing of the variances: each variance is estimated as if this many more rows"
        " had been seen that spread as the whole column does. None is maximum likelihood.",
        "Strength of the MAP prior: every weight has a normal prior with mean 0 and variance "
        "1 / prior. None is maximum likelihood.",
    ),
    "random_state": (
        "Seeds the random starts, the folds of `calibrate`, and `sample`.",
        "Seeds the folds, the random starts, and `sample`.",
    ),
    "relative_tol": (
        "If true, `tol` is relative: EM stops when the objective gains no more than `tol` times "
        "its absolute value.",
    ),
    "scoring": ("What decides between candidates: the log-loss or the accuracy on held-out rows.",),
    "search": (
        'How the candidates are visited. "exhaustive": all of them. "semi_greedy" (as in the '
        "paper): with more and more latent variables, each number with all numbers of "
        'components, until three consecutive numbers bring no improvement. "stepwise": from the '
        "second number of both lists on, to the best of the pairs with the next larger or smaller "
        "number, while one is better; with half the starts, at most 20 iterations, and a sample of "
        "the rows if there are more than 2,000 and `cv` is a number.",
    ),
    "select": (
        'What happens to the starts. "average": their class probabilities are averaged. '
        '"accuracy" (as in the paper): the one with the highest training accuracy is kept, '
        'and the bound breaks ties. "likelihood": the one with the highest bound is kept.',
        'What happens to the starts. "average": their class probabilities are averaged. '
        '"accuracy" (as in the paper): the one with the highest training accuracy is kept, '
        'and the likelihood breaks ties. "likelihood": the one with the highest likelihood is'
        " kept.",
    ),
    "structure": (
        'Which latent variables a column may depend on. "full": all. "learned": only those '
        "that Geiger and Heckerman's metric supports (structural EM); all components share "
        "the edges.",
    ),
    "temperatures": ('The first and the last temperature of "anneal".',),
    "tol": ("EM stops when the objective per row gains no more than this.",),
    "unlabelled_weight": (
        "Factor of the weight of rows without a label: 0 leaves them out, 1 counts them like the "
        'others. "auto" takes 0 or, if that lowers the log-loss on held-out rows, a factor that '
        "gives all of them together 0.3 times the weight of the labelled rows.",
    ),
    "verbose": (
        "1 prints each EM iteration to standard error.",
        "1 prints each candidate and each EM iteration to standard error.",
        "1 prints each iteration to standard error.",
    ),
    "average_posterior_": (
        "Mean P(c | x) of each component over the training rows for which it is the most probable: "
        "near 1 if the component is clearly separate, 0 if it has no such row.",
        "Mean P(m | x) of each component over the training rows for which it is the most probable: "
        "near 1 if the component is clearly separate, 0 if it has no such row.",
        "For each latent variable, by name, the mean probability of each state over the training "
        "rows for which it is the most probable.",
    ),
    "calibration_": (
        "With `calibrate`, the learned temperature and the held-out log-loss before and after "
        "it; otherwise empty.",
    ),
    "class_prior_": ("Share of each class.",),
    "classes_": ("Class labels in sorted order.",),
    "component_prior_": ("Probability of each component given the class, P(m | y).",),
    "converged_": (
        "Whether the last gain of EM was at most `tol`.",
        "Whether the last gain of EM was at most `tol`. Always true without unlabelled rows.",
        'Whether the last change was at most `tol` ("em"), or nothing changed any more '
        '("kmeans"). For "era", "anneal" and "mcem", whether they came to their end.',
    ),
    "cut_points_": ("Cut points of each continuous column.",),
    "depends_on_class_": ("Whether the class is a parent of each column.",),
    "entropy_": (
        "Relative entropy of P(c | x) of the training rows: 1 if the component of each row is "
        "certain, 0 if all components are equally probable.",
        "Relative entropy of P(m | x) of the training rows: 1 if the component of each row is "
        "certain, 0 if all components are equally probable.",
        "Relative entropy of the states of each latent variable, by name: 1 if its state is "
        "certain in each training row, 0 if all states are equally probable.",
    ),
    "feature_names_in_": ("Names of the columns, if the table had names.",),
    "history_": (
        "Objective per row (log-likelihood plus log-prior): at the start and after each EM step.",
        "Best objective per row so far (log-likelihood plus log-prior), at each iteration of "
        "the kept start.",
    ),
    "latent_means_": ("Mean and variance of each latent variable in each class.",),
    "latent_names_": (
        "Names of the latent variables; see `rename_latents`.",
        "Names of the components, at first their numbers; see `rename_latents`.",
    ),
    "latent_variances_": ("Mean and variance of each latent variable in each class.",),
    "log_likelihood_": (
        "log p(X, y), summed over rows with their weights; unlabelled rows count by log p(x).",
    ),
    "n_candidates_": ("Number of candidates tried.",),
    "n_features_in_": ("Number of columns seen in `fit`.",),
    "n_iter_": ("Number of M-steps of the kept start.",),
    "n_unlabelled_": ("Number of rows without a label that were learned from.",),
    "parents_": ("Parents of each column, apart from the class.",),
    "restart_histories_": ("`history_` of every start.",),
    "restarts_": ("One entry per start: start, objective, n_iter, converged, reseeded, kept.",),
    "rival_": (
        "The best of the other kept starts that has found a different solution, if it is nearly as "
        "good: `start`, `below` (difference of the objectives, summed over the rows; less than "
        "the logarithm of 20) and `congruence` of the loadings (below 0.85; 1 if they are equal). "
        "Empty "
        'if there is none. Only `select="average"` keeps several starts.',
    ),
    "schema_": ("Names, kinds and categories of the columns.",),
    "temperature_": (
        "Divides log p(x | class) in prediction; 1 unless `calibrate` found a better one.",
        "Divides log p(x | class) in prediction; 1 unless `calibrate`, or the rows that "
        "`discriminative` held out, found a better one.",
    ),
    "unlabelled_weight_": ("Factor of the weight of rows without a label that was used.",),
    "held_out_": (
        "With `discriminative=True`: log-loss of the held-out rows after every fifth step, by "
        "temperature (1, 1.5, 2, 3, 5). It ends when eight evaluations brought no improvement.",
    ),
    "n_steps_": ("With `discriminative=True`: number of gradient steps taken.",),
    "traces_": ("Objective per row at each iteration of every start, falls included.",),
}

# Estimators that say more, or something else, about a name above.
OWN_WORDS = {
    "alpha": {
        "AODE",
        "HiddenNaiveBayes",
        "K2",
        "LatentTreeClassifier",
        "LatentVariableClassifier",
        "NaiveBayes",
        "TAN",
    },
    "calibrate": {"AutoLatentClassifier", "NaiveBayes"},
    "cv": {"HNBClassifier"},
    "discriminative": {"HNBClassifier", "HybridLCMClassifier"},
    "drop_starts": {"LatentMixture"},
    "max_iter": {
        "LatentMixture",
        "LatentTreeClassifier",
        "LatentVariableClassifier",
        "MixtureNaiveBayes",
    },
    "n_init": {
        "FiniteMixtureNaiveBayes",
        "LatentTreeClassifier",
        "MixtureNaiveBayes",
        "NaiveBayes",
        "ProjectedNaiveBayes",
    },
    "n_jobs": {"LatentTreeClassifier", "MixtureNaiveBayes"},
    "prior": {
        "HybridLCMClassifier",
        "LCMClassifier",
        "LCMClassifierCV",
        "NaiveBayes",
        "ProjectedNaiveBayes",
    },
    "random_state": {
        "AutoLatentClassifier",
        "BackpropagationNetwork",
        "HNBClassifier",
        "LatentMixture",
        "LatentVariableClassifier",
    },
    "search": {
        "HNBClassifier",
        "LatentMixture",
        "LatentTreeClassifier",
        "LatentVariableClassifier",
    },
    "tol": {"LatentTreeClassifier", "LatentVariableClassifier"},
    "unlabelled_weight": {"AutoLatentClassifier", "LatentVariableClassifier"},
    "verbose": {"AutoLatentClassifier", "LatentTreeClassifier", "MixtureNaiveBayes"},
    "class_prior_": {"ProjectedNaiveBayes"},
    "converged_": {"AutoLatentClassifier", "HNBClassifier"},
    "cut_points_": {"LatentTreeClassifier", "MDLDiscretizer"},
    "latent_names_": {"LatentTreeClassifier"},
    "history_": {
        "AutoLatentClassifier",
        "HNBClassifier",
        "HybridLCMClassifier",
        "LCMClassifier",
        "LatentTreeClassifier",
    },
    "log_likelihood_": {
        "AutoLatentClassifier",
        "HybridLCMClassifier",
        "LCMClassifier",
        "LatentMixture",
        "LatentVariableClassifier",
    },
    "n_iter_": {"AutoLatentClassifier", "LatentTreeClassifier"},
    "n_unlabelled_": {"MDLDiscretizer"},
    "restarts_": {"AutoLatentClassifier", "LatentTreeClassifier"},
    "temperature_": {"AutoLatentClassifier"},
    "noise": {"LCMClassifierCV"},
    "scoring": {"AutoLatentClassifier"},
    "categorical_features": {"AutoLatentClassifier"},
}

# Names of which each estimator has its own meaning.
SEVERAL_MEANINGS = {
    "best_score_",
    "cv_results_",
    "label_noise_",
    "time_budget",
    "bic_",
    "component_weights_",
    "criterion",
    "estimator",
    "intercepts_",
    "loadings_",
    "max_components",
    "max_parents",
    "means_",
    "n_components",
    "n_components_",
    "n_latent",
    "n_latent_",
    "noise_variances_",
    "offsets_",
    "probabilities_",
    "scales_",
    "weights_",
}


def entries(estimator, section):
    """Type and words of everything that a section of the docstring lists, by name."""
    text = inspect.getdoc(estimator)
    found = re.search(rf"^{section}\n-+\n(.*?)(?=\n\n[A-Z]\w*\n--|\Z)", text, re.M | re.S)
    listed = re.findall(r"^(\w+(?:, \w+)*) : (.*)\n((?:    .*\n?)*)", found[1] + "\n", re.M)
    return {
        name: (kind, " ".join(words.split()))
        for names, kind, words in listed
        for name in names.split(", ")
    }


def all_entries():
    for name, estimator in ESTIMATORS.items():
        for section in ("Parameters", "Attributes"):
            for entry, (_, words) in entries(estimator, section).items():
                yield name, entry, words


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_is_documented_with_its_default(name):
    documented = entries(ESTIMATORS[name], "Parameters")
    parameters = inspect.signature(ESTIMATORS[name]).parameters
    assert list(documented) == list(parameters)
    for parameter in parameters.values():
        kind, words = documented[parameter.name]
        assert words, f"{parameter.name} is not explained"
        if parameter.default is parameter.empty:
            assert "default" not in kind, parameter.name
        else:
            assert eval(kind.rpartition(", default=")[2]) == parameter.default, parameter.name


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_fitted_attribute_is_explained(name):
    for attribute, (_, words) in entries(ESTIMATORS[name], "Attributes").items():
        assert attribute.endswith("_"), attribute
        assert words, attribute


@pytest.mark.parametrize("name", ESTIMATORS)
def test_shared_names_have_the_shared_words(name):
    for owner, entry, words in all_entries():
        if owner == name and entry in SHARED and name not in OWN_WORDS.get(entry, ()):
            assert words in SHARED[entry], f"{entry}: {words}"


def test_names_that_estimators_share_are_listed_above():
    owners = defaultdict(set)
    for owner, entry, _ in all_entries():
        owners[entry].add(owner)
    shared = {entry for entry, names in owners.items() if len(names) > 1}
    assert shared == SHARED.keys() | SEVERAL_MEANINGS
    assert not SHARED.keys() & SEVERAL_MEANINGS


def test_no_wording_and_no_exception_is_left_over():
    owners = defaultdict(set)
    for owner, entry, words in all_entries():
        owners[entry, words].add(owner)
    for entry, wordings in SHARED.items():
        for words in wordings:
            assert len(owners[entry, words]) > 1, f"{entry}: {words}"
    for entry, names in OWN_WORDS.items():
        alone = set().union(
            *(own for key, own in owners.items() if key[0] == entry and len(own) == 1)
        )
        assert names == alone, entry
