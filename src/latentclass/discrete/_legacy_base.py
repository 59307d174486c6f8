"""What classifiers of discrete columns share: coding, holes, samples, rows without label.

Continuous columns are cut into bins by Fayyad and Irani's rule, learned on the labelled training
rows of the estimator itself. Columns of a single level (constants, and numbers without a cut) tell
nothing about the class: the models leave them out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass._validation import check_number
from latentclass.data._schema import Block, Table, block_spans
from latentclass.discrete._coding import CodedRows, Coding, code_rows, learn_coding
from latentclass.discrete._em import CountLayout, CountParams, CountProblem, CountStats
from latentclass.engine._em import EMResult, run_restarts
from latentclass.engine._logspace import log_sum_exp
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._legacy_base import GenerativeClassifier
from latentclass.estimator._legacy_reading import Training

MAX_COMPLETIONS = 4096
"""Completions of one row that are all tried in the search for the most probable one."""

MAX_SWEEPS = 50
"""Rounds over the missing cells where there are more: each sets one cell to its best at a time."""


class DiscreteClassifier(GenerativeClassifier):
    """Base of classifiers that see every column as discrete.

    A model answers `_learn`, `_code_log_likelihood` and `_sample_codes`; this base turns tables
    into codes, fills and draws cells, and runs EM where rows have no label.
    """

    alpha: float
    n_init: int

    _coding: Coding

    def _check_parameters(self) -> None:
        check_number("alpha", self.alpha, low=0)
        check_number("n_init", self.n_init, low=1, whole=True)
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0)

    # ------------------------------------------------------------------ fit

    def _fit_training(self, training: Training, progress: FitProgress | None) -> None:
        table, y, weight = training
        self._coding = self._learn_coding(training)
        rows = code_rows(self._coding, table, y, weight, len(self.classes_))
        self._learn(rows, progress)
        with np.errstate(divide="ignore"):  # a fold of `calibrate` may lack a class
            log_prior = np.log(self.class_prior_)
        known = self._own_log_likelihood(rows.codes, rows.y) + log_prior[rows.y]
        inside = [self._coding.log_inside(block) for block in table.blocks()]
        total = rows.weight @ known + weight @ np.concatenate(inside)
        if len(rows.unlabelled):
            total += rows.unlabelled_weight @ log_sum_exp(self._code_joint(rows.unlabelled))
        self.log_likelihood_ = float(total)

    def _learn_coding(self, training: Training) -> Coding:
        """How the table's rows become codes."""
        return learn_coding(self.schema_, *training, len(self.classes_))

    def _run_em(
        self,
        rows: CodedRows,
        cells: CountLayout,
        features: Callable[[CodeArray], IndexArray],
        count: Callable[[CodeArray, IndexArray, FloatArray], FloatArray],
        progress: FitProgress | None,
    ) -> tuple[CountParams, CountStats]:
        """Parameters and counts of all rows, those without label shared out by EM."""
        n_classes = len(self.classes_)
        spans = block_spans(len(rows.unlabelled), max(1, rows.codes.shape[1]))
        blocks = [(rows.unlabelled[s], rows.unlabelled_weight[s]) for s in spans]
        known = count(rows.codes, rows.y, rows.weight)
        known_weight = np.zeros(n_classes) + np.bincount(rows.y, rows.weight, n_classes)
        problem = CountProblem(cells, features, blocks, known_weight, known, self.n_jobs)
        # without unlabelled rows the first start is the answer, and the next step confirms it
        n_starts = self.n_init if blocks else 1
        seed = check_random_state(self.random_state).randint(2**31)
        rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n_starts)]
        weights, counts = [known_weight], [known]
        for rng in rngs[1:]:
            # each row counts by chance more or less: a Bayesian bootstrap of the labelled rows
            drawn = rows.weight * rng.standard_exponential(len(rows.weight))
            weights.append(np.zeros(n_classes) + np.bincount(rows.y, drawn, n_classes))
            counts.append(count(rows.codes, rows.y, drawn))
        starts = problem.m_step(CountStats(np.stack(weights), np.stack(counts)))
        result: EMResult[CountParams] = run_restarts(
            problem,
            starts,
            tol=self.tol,
            max_iter=self.max_iter if blocks else 2,
            rngs=rngs,
            on_iteration=None if progress is None else progress.step,
        )
        self.history_, self.n_iter_ = result.history, result.n_iter
        self.converged_, self.restarts_ = result.converged, result.restarts
        if blocks:
            stats, _ = problem.e_step(result.params)
        else:
            stats = CountStats(known_weight[None], known[None])
        params = CountParams(*(array[0] for array in result.params))
        return params, CountStats(*(array[0] for array in stats))

    @property
    def cut_points_(self) -> dict[str, FloatArray]:
        """Cut points of each continuous column by name; a value equal to one lies below it."""
        check_is_fitted(self)
        names = [self.schema_.columns[j].name for j in self.schema_.continuous]
        return {name: bins.cuts for name, bins in zip(names, self._coding.bins, strict=True)}

    # ----------------------------------------------------------- prediction

    def _log_likelihood(self, block: Block) -> FloatArray:
        codes = self._coding.encode(block)
        return self._code_log_likelihood(codes) + self._coding.log_inside(block)[:, None]

    def _code_joint(self, codes: CodeArray) -> FloatArray:
        spans = block_spans(len(codes), max(1, codes.shape[1]))
        parts = [self._code_log_likelihood(codes[span]) for span in spans]
        with np.errstate(divide="ignore"):
            return np.concatenate(parts) + np.log(self.class_prior_)

    def _own_log_likelihood(self, codes: CodeArray, y: IndexArray) -> FloatArray:
        """log P(observed codes | own class): a model may save the work on the other classes."""
        spans = block_spans(len(codes), max(1, codes.shape[1]) * len(self.classes_))
        parts = [self._code_log_likelihood(codes[s])[np.arange(len(y[s])), y[s]] for s in spans]
        return np.concatenate(parts)

    # ----------------------------------------------------- samples, completion

    def _sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        codes = self._sample_codes(y, rng)
        numeric, nominal = self._coding.empty(len(y))
        for place, bins in enumerate(self._coding.bins):
            if not len(bins.cuts) and np.isfinite(bins.edge[0]):
                numeric[:, place] = bins.draw(np.zeros(len(y), dtype=np.int32), rng)
        for j, (continuous, place) in enumerate(self._coding.active):
            if continuous:
                numeric[:, place] = self._coding.bins[place].draw(codes[:, j], rng)
            else:
                nominal[:, place] = codes[:, j]
        return Table(numeric, nominal)

    def _expected_cells(self, table: Table, posterior: FloatArray) -> Table:
        codes = self._coding.encode(table.block(slice(None)))
        numeric, nominal = self._coding.empty(len(codes))
        for j, (continuous, place) in enumerate(self._coding.active):
            rows = np.flatnonzero(codes[:, j] < 0)
            if not rows.size:
                continue
            share = self._level_posterior(codes[rows], j, posterior[rows])
            if continuous:
                numeric[rows, place] = share @ self._coding.bins[place].mean
            else:
                nominal[rows, place] = share.argmax(axis=1)
        return Table(numeric, nominal)

    def _level_posterior(self, codes: CodeArray, j: int, posterior: FloatArray) -> FloatArray:
        """P(level of column j | observed cells), the classes mixed by `posterior`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            log_posterior = np.log(posterior)
            base = log_posterior - self._code_joint(codes)
        levels = []
        for level in range(self._coding.n_levels[j]):
            codes[:, j] = level
            with np.errstate(invalid="ignore"):
                term = base + self._code_joint(codes)
            levels.append(log_sum_exp(np.where(np.isnan(term), -np.inf, term)))
        share = np.exp(np.stack(levels, axis=1))
        return np.asarray(share / share.sum(axis=1, keepdims=True))

    def _most_probable_cells(self, table: Table) -> Table:
        codes = self._coding.encode(table.block(slice(None)))
        holes = np.flatnonzero((codes < 0).any(axis=1))
        if holes.size:
            codes[holes] = self._most_probable_codes(codes[holes])
        numeric, nominal = self._coding.empty(len(codes))
        for j, (continuous, place) in enumerate(self._coding.active):
            if continuous:
                numeric[:, place] = self._coding.bins[place].mode[codes[:, j]]
            else:
                nominal[:, place] = codes[:, j]
        return Table(numeric, nominal)

    def _most_probable_codes(self, codes: CodeArray) -> CodeArray:
        """Missing codes filled by trying all completions, or, of too many, by one at a time."""
        missing = codes < 0
        patterns, which = np.unique(missing, axis=0, return_inverse=True)
        filled = codes.copy()
        for number, pattern in enumerate(patterns):
            rows = np.flatnonzero(which.reshape(-1) == number)
            columns = np.flatnonzero(pattern)
            levels = [self._coding.n_levels[j] for j in columns]
            if np.prod([float(r) for r in levels]) <= MAX_COMPLETIONS:
                filled[rows] = self._try_all(codes[rows], columns, levels)
            else:
                filled[rows] = self._improve(codes[rows], columns)
        return filled

    def _value(self, codes: CodeArray, columns: IndexArray) -> FloatArray:
        """log of the largest joint probability with any class, numbers at their best."""
        peaks = self._coding.peaks()
        value: FloatArray = self._code_joint(codes).max(axis=1)
        for j in columns:
            value = value + peaks[j][codes[:, j]]
        return value

    def _try_all(self, codes: CodeArray, columns: IndexArray, levels: list[int]) -> CodeArray:
        every = np.indices(levels, dtype=np.int32).reshape(len(levels), -1).T
        best, value = codes.copy(), np.full(len(codes), -np.inf)
        best[:, columns] = every[0]
        for completion in every:
            tried = codes.copy()
            tried[:, columns] = completion
            new = self._value(tried, columns)
            better = new > value
            best[better], value[better] = tried[better], new[better]
        return best

    def _improve(self, codes: CodeArray, columns: IndexArray) -> CodeArray:
        for j in columns:  # first each cell given the observed ones and those filled before it
            joint = self._code_joint(codes)
            share = self._level_posterior(
                codes.copy(), j, np.exp(joint - log_sum_exp(joint)[:, None])
            )
            codes[:, j] = share.argmax(axis=1)
        for _ in range(MAX_SWEEPS):
            before = codes.copy()
            for j in columns:
                values = []
                for level in range(self._coding.n_levels[j]):
                    tried = codes.copy()
                    tried[:, j] = level
                    values.append(self._value(tried, columns))
                codes[:, j] = np.stack(values, axis=1).argmax(axis=1)
            if np.array_equal(before, codes):
                break
        return codes

    # ---------------------------------------------- what a discrete model must answer

    @abstractmethod
    def _learn(self, rows: CodedRows, progress: FitProgress | None) -> None:
        """Learn from coded rows; set `class_prior_` and the attributes about the fit."""

    @abstractmethod
    def _code_log_likelihood(self, codes: CodeArray) -> FloatArray:
        """log P(observed codes | class), shape (n_rows, n_classes)."""

    @abstractmethod
    def _sample_codes(self, y: IndexArray, rng: np.random.Generator) -> CodeArray:
        """Draw the active columns' codes of one row for each class code."""
