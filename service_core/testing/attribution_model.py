"""The conformance kit of attribution models, rule-based and data-driven.

Override the fixture ``model`` and inherit the tests::

    class TestMyModel(AttributionModelConformance):
        @pytest.fixture
        def model(self):
            return MY_MODEL
"""

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Final

import pytest

from service_core.analytics.attribution.credit_shares import PathTouch, compute_credit_share_per_touch
from service_core.analytics.attribution.ports import AttributionModel, DataDrivenModel, RuleBasedModel
from service_core.analytics.ports import TouchPath

_NOON: Final = datetime(2026, 7, 1, 12, tzinfo=UTC)
_SEARCH, _SOCIAL, _EMAIL, _UNKNOWN = ("search",), ("social",), ("email",), (None,)
PATHS: Final = (
    TouchPath((_SEARCH, _SOCIAL, _SEARCH), 3, 10),
    TouchPath((_SOCIAL,), 1, 50),
    TouchPath((_EMAIL, _SEARCH), 2, 0),
    TouchPath((_UNKNOWN, _EMAIL), 0, 7),
    TouchPath((_UNKNOWN,), 1, 0),
)
"""Converted and unconverted paths; one key is None, as where a touch has no campaign."""


class AttributionModelConformance:
    """All tests of the kit; override the fixture ``model``."""

    @pytest.fixture
    def model(self) -> AttributionModel:
        """Returns the model under test."""
        raise pytest.UsageError("override the fixture `model` with the model under test")

    def test_model_is_described(self, model: AttributionModel) -> None:
        """The id is in snake case, and label and a description of one or more sentences are given."""
        assert re.fullmatch("[a-z][a-z0-9_]{0,63}", model.id)
        assert model.label
        assert model.description.endswith(".")

    def test_weights_are_finite_and_not_negative(self, model: AttributionModel) -> None:
        """Every weight is a finite number of at least 0, and one of a conversion is above it."""
        for weights in _all_weights(model):
            assert all(0 <= weight < float("inf") for weight in weights)
            assert sum(weights) > 0

    def test_fitted_keys_stand_in_the_paths(self, model: AttributionModel) -> None:
        """A data-driven model credits no key that no path has."""
        if isinstance(model, DataDrivenModel):
            assert set(model.fit(PATHS)) <= {key for path in PATHS for key in path.keys}

    def test_weights_are_the_same_each_time(self, model: AttributionModel) -> None:
        """The same paths give the same weights, in whichever order they come: a fit is pure and deterministic."""
        assert _all_weights(model) == _all_weights(model)
        if isinstance(model, DataDrivenModel):
            assert {key: float(weight) for key, weight in model.fit(PATHS[::-1]).items()} == pytest.approx(
                {key: float(weight) for key, weight in model.fit(PATHS).items()}
            )

    def test_split_amounts_are_the_whole_sum(self, model: AttributionModel) -> None:
        """A model that splits money or orders gives every minor unit to a key of its path."""
        if isinstance(model, DataDrivenModel) and model.split_amounts is not None:
            amounts = {path.keys: 100 + place for place, path in enumerate(PATHS)}
            split = model.split_amounts(amounts)
            assert min(split.values()) >= 0
            assert sum(split.values(), Fraction()) > 0


def _all_weights(model: AttributionModel) -> list[list[float]]:
    """Returns the weights of a model: of paths of one to four touches by a rule, of all keys by a fit."""
    if isinstance(model, RuleBasedModel):
        rule = model.to_credit_rule(timedelta(days=30))
        return [
            [float(weight) for weight in compute_credit_share_per_touch(rule, _touches(count, direct), _NOON)]
            for count in range(1, 5)
            for direct in (False, True)
        ]
    return [[float(weight) for _, weight in sorted(model.fit(PATHS).items(), key=str)]]


def _touches(count: int, is_direct: bool) -> list[PathTouch]:
    return [PathTouch(_NOON - timedelta(days=count - place), is_direct=is_direct) for place in range(count)]
