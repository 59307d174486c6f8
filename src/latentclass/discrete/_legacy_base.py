"""What classifiers of discrete columns share: coding, holes, samples, rows without label.

Continuous columns are cut into bins by Fayyad and Irani's rule, learned on the labelled training
rows of the estimator itself. Columns of a single level (constants, and numbers without a cut) tell
nothing about the class: the models leave them out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from os import PathLike

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass._validation import check_number
from latentclass.data._schema import Block, Table, block_spans
from latentclass.discrete._coding import CodedRows, Coding, code_rows, learn_coding
from latentclass.discrete._em import CountLayout, CountParams, CountProblem, CountStats
from latentclass.discrete._network import Structure, draw_codes, log_likelihood
from latentclass.discrete._structure_search import Sample
from latentclass.engine._counts import class_information, level_counts, level_offsets
from latentclass.engine._em import EMResult, run_restarts
from latentclass.engine._logspace import log_sum_exp
from latentclass.estimator._bif import BifVariable, free_name, write_bif
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


class NetworkClassifier(DiscreteClassifier):
    """Base of classifiers that are one Bayesian network over class and columns.

    A model answers `_search`: the structure. Every conditional table is smoothed by `_mass`
    pseudo-counts; missing cells are summed out exactly.
    """

    _structure: Structure
    _log_theta: FloatArray

    @abstractmethod
    def _search(self, rows: CodedRows) -> Structure:
        """The arcs among the active columns, from the labelled rows."""

    def _mass(self, rows: CodedRows) -> list[FloatArray]:
        """Pseudo-counts of each active column's levels, in every distribution of it."""
        del rows  # a column's own shares may be wanted
        return [np.full(r, float(self.alpha)) for r in self._coding.n_levels]

    def _learn(self, rows: CodedRows, progress: FitProgress | None) -> None:
        self._structure = structure = self._search(rows)
        n_classes = len(self.classes_)
        repeats = [int(np.prod(shape[:-1])) for shape in structure.shapes]

        def laid_out(by_level: list[FloatArray]) -> FloatArray:
            parts = [np.tile(v, r) for v, r in zip(by_level, repeats, strict=True)]
            return np.concatenate([np.empty(0), *parts])

        cells = CountLayout(
            structure.group_starts,
            laid_out(self._mass(rows)),
            laid_out(rows.level_shares()),
            np.ones(structure.n_cells),
            structure.shared,
        )

        def count(codes: CodeArray, y: IndexArray, weight: FloatArray) -> FloatArray:
            return structure.counts(codes, y, weight, n_classes)

        params, _ = self._run_em(rows, cells, structure.cells, count, progress)
        self._log_theta = params.log_theta
        self.class_prior_ = np.exp(params.log_pi)

    def _by_information(self, rows: CodedRows) -> IndexArray:
        """Active columns, the one that tells most about the class first."""
        offsets = level_offsets(self._coding.n_levels)
        single = level_counts(rows.codes, rows.y, rows.weight, len(self.classes_), offsets)
        information = class_information(single, offsets)
        return np.argsort(-np.round(information, 12), kind="stable")

    def _sample_of(self, rows: CodedRows, order: IndexArray) -> Sample:
        """Labelled rows with the active columns in a given order."""
        n_levels = tuple(self._coding.n_levels[j] for j in order)
        codes = np.ascontiguousarray(rows.codes[:, order])
        return Sample(codes, rows.y, rows.weight, len(self.classes_), n_levels)

    def _code_log_likelihood(self, codes: CodeArray) -> FloatArray:
        return log_likelihood(self._structure, self._log_theta, codes)

    def _sample_codes(self, y: IndexArray, rng: np.random.Generator) -> CodeArray:
        return draw_codes(self._structure, self._log_theta, y, rng)

    def _most_probable_codes(self, codes: CodeArray) -> CodeArray:
        """Exact: each cell in turn gets the level from which the others can reach the most."""
        structure, peaks = self._structure, self._coding.peaks()
        repeats = [int(np.prod(shape[:-1])) for shape in structure.shapes]
        bonus = np.concatenate([np.tile(v, r) for v, r in zip(peaks, repeats, strict=True)])
        table = self._log_theta + bonus
        for j, n_levels in enumerate(structure.n_levels):
            rows = np.flatnonzero(codes[:, j] < 0)
            if not rows.size:
                continue
            values = []
            for level in range(n_levels):
                codes[rows, j] = level
                best = log_likelihood(structure, table, codes[rows], maximise=True)
                values.append((best + np.log(self.class_prior_)).max(axis=1))
            codes[rows, j] = np.stack(values, axis=1).argmax(axis=1)
        return codes

    # ------------------------------------------------------------------ reading

    def _active_names(self) -> list[str]:
        return [self.schema_.columns[j].name for j in self._coding.positions]

    @property
    def parents_(self) -> dict[str, tuple[str, ...]]:
        """Parents of each column in the network, the class left out, by name."""
        names = self._active_names()
        return {
            names[j]: tuple(names[p] for p in parents)
            for j, parents in enumerate(self._structure.parents)
        }

    @property
    def depends_on_class_(self) -> dict[str, bool]:
        """Whether the class is a parent of each column, by name."""
        return dict(zip(self._active_names(), self._structure.class_parent, strict=True))

    def to_bif(self, path: str | PathLike[str] | None = None) -> str:
        """The network in BIF, the text format that most Bayesian-network programs read.

        Parameters
        ----------
        path : str or path, optional
            File to write.

        Returns
        -------
        str
            The text. The class is the variable `class` (with underscores added if a column has
            that name); a discretised column has the states `bin0`, `bin1`, and so on, cut at
            `cut_points_`. Columns of one level are left out. See `write_bif` for how names are
            spelled.
        """
        check_is_fitted(self)
        names = self._active_names()
        class_name = free_name("class", self.schema_.names)
        variables = [BifVariable(class_name, self.classes_.tolist(), (), self.class_prior_)]
        for j, table in enumerate(self._structure.tables(self._log_theta)):
            column = self.schema_.columns[self._coding.positions[j]]
            states = column.categories or [f"bin{b}" for b in range(table.shape[-1])]
            parents = tuple(names[p] for p in self._structure.parents[j])
            if self._structure.class_parent[j]:
                parents = (class_name, *parents)
            else:
                table = table[0]
            variables.append(BifVariable(names[j], states, parents, np.exp(table)))
        return write_bif(variables, path, title=type(self).__name__)
