"""How the columns of a table become those of the mixed model, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.data._schema import Block, Table, block_spans
from latentclass.engine._class_components import VALUE_LIMIT
from latentclass.estimator._gaussian_model import Scaling
from latentclass.lcm._logistic_bound import HybridRows
from latentclass.lcm._soft_max import SoftMax
from latentclass.lcm._stick_breaking import StickBreaking


class HybridColumns(NamedTuple):
    """How columns become those of the model.

    Continuous columns that vary are standardised and transformed by the scaling. Discrete columns
    become questions.
    """

    scaling: Scaling
    questions: StickBreaking | SoftMax

    @property
    def n_gaussian(self) -> int:
        """Number of continuous columns that vary."""
        return self.scaling.n_varying

    @property
    def n_logistic(self) -> int:
        """Number of questions."""
        return self.questions.n_questions

    @property
    def n_cells(self) -> int:
        """Number of cells of a row: continuous columns, and the most questions it answers."""
        return self.n_gaussian + self.questions.n_cells

    @property
    def n_levels(self) -> IndexArray:
        """Number of categories of each discrete column."""
        return self.questions.n_levels

    def spans(self, table: Table, n_latent: int, n_maps: int) -> list[slice]:
        """Blocks of rows, small enough to hold all posteriors of a block in memory."""
        n = self.n_cells
        n_features = (n_latent + 1) * (n_latent + 2) // 2
        # eight times as large as other models' blocks: matrix products need some hundred rows
        return block_spans(table.n_rows, n_maps * (n_features + 3 * n) // 8, least=16)

    def rows(self, table: Table, span: slice) -> HybridRows:
        """Rows in the form that the engine needs; a sparse table stays sparse."""
        if sp.issparse(table.codes):
            nothing = np.empty((0, table.codes[span].shape[0]))
            return HybridRows(nothing, sp.csr_array(table.codes[span]).T.tocsr())
        return self.block_rows(table.block(span))

    def block_rows(self, block: Block) -> HybridRows:
        """Rows of a block in the form that the engine needs."""
        values = np.clip(self.scaling.values(block.numeric).T, -VALUE_LIMIT, VALUE_LIMIT)
        signs, asked = self.questions.cells(block.codes)
        return HybridRows(np.ascontiguousarray(values), signs, self.questions.soft, asked)

    def categories(self, logits: FloatArray) -> list[tuple[int, FloatArray]]:
        """log P(category) of each column with questions, whose logits are on the last axis."""
        return [
            (place, self.questions.log_probabilities(place, logits[..., span]))
            for place, span in enumerate(self.questions.spans)
            if span.stop > span.start
        ]

    def mean_chances(
        self, logits: FloatArray, by_point: FloatArray
    ) -> Iterator[tuple[int, FloatArray]]:
        """P(category) of each column with questions, averaged over points, (rows, levels).

        `logits` has shape (rows, points, questions), `by_point` (rows, points, 1) their shares. The
        columns with a single question, whether they are of the second category, are averaged all at
        once: an image has many of them.
        """
        spans = self.questions.spans
        single = [k for k, span in enumerate(spans) if span.stop == span.start + 1]
        if single:
            yes = expit(logits[..., [spans[k].start for k in single]])
            mean = (yes * by_point).sum(axis=1)
            for place, k in enumerate(single):
                yield k, np.stack([1.0 - mean[:, place], mean[:, place]], axis=1)
        for k, span in enumerate(spans):
            if span.stop > span.start + 1:
                log_prob = self.questions.log_probabilities(k, logits[..., span])
                yield k, (by_point * np.exp(log_prob)).sum(axis=1)

    def blank_codes(self, n_rows: int) -> CodeArray:
        """Codes of rows: missing, except in columns with a single category."""
        codes = np.full((n_rows, len(self.n_levels)), -1, dtype=np.int32)
        codes[:, self.n_levels == 1] = 0
        return codes
