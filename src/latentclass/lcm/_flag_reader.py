"""How estimators read numbers of two values as yes/no columns, in tables and in parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._reading import TableReader, Training
from latentclass.lcm._hybrid_parted_fit import promote_parts
from latentclass.lcm._stick_breaking import promote_binary


class FlagReader(TableReader):
    """Mixin: unless the user lists the discrete columns, numbers of two values are flags."""

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        training = super()._read_training(X, y, sample_weight)
        if not isinstance(self.categorical_features, str):
            return training
        schema, table = promote_binary(training.schema, training.table)
        return replace(training, schema=schema, table=table)

    def _review_parts(self, parted: PartedTraining) -> PartedTraining:
        return promote_parts(parted) if isinstance(self.categorical_features, str) else parted
