"""The built-in attribution models."""

from typing import Final

from plugins.attribution_models.markov import compute_markov_removal_effects
from plugins.attribution_models.shapley import (
    split_amounts_over_distinct_keys,
    split_conversions_over_distinct_keys,
)
from service_core.plugin import AttributionModel, DataDrivenModel, RuleBasedModel, Weighting

MODELS: Final[tuple[AttributionModel, ...]] = (
    RuleBasedModel(
        id="first_touch",
        label="First touch",
        description="The first touch in the window gets the whole conversion.",
        weighting=Weighting.FIRST,
    ),
    RuleBasedModel(
        id="last_touch",
        label="Last touch",
        description="The last touch in the window gets the whole conversion, direct or not.",
        weighting=Weighting.LAST,
    ),
    RuleBasedModel(
        id="last_non_direct",
        label="Last non-direct touch",
        description="The last touch that is not direct gets the whole conversion; a path of direct "
        "touches only goes to the last of them.",
        weighting=Weighting.LAST,
        ignore_direct=True,
    ),
    RuleBasedModel(
        id="linear",
        label="Linear",
        description="All touches share a conversion evenly; direct ones only count where there is no other.",
        weighting=Weighting.LINEAR,
        ignore_direct=True,
    ),
    RuleBasedModel(
        id="position_based",
        label="Position based",
        description="First and last touch get 40% each, those between share 20%; of two touches each gets "
        "half. Direct touches only count where there is no other.",
        weighting=Weighting.POSITION_BASED,
        ignore_direct=True,
    ),
    RuleBasedModel(
        id="time_decay",
        label="Time decay",
        description="A touch weighs half as much for every 7 days it lies before the conversion. Direct "
        "touches only count where there is no other.",
        weighting=Weighting.TIME_DECAY,
        ignore_direct=True,
    ),
    DataDrivenModel(
        id="markov",
        label="Markov chain",
        description="Keys share the conversions by removal effect: how much less often paths would convert "
        "if every step into the key were lost.",
        fit=compute_markov_removal_effects,
    ),
    DataDrivenModel(
        id="shapley",
        label="Shapley value",
        description="Each conversion, and its own money, is split evenly over the different keys of its path: "
        "the Shapley value of the conversions and the money a set of keys wins on its own.",
        fit=split_conversions_over_distinct_keys,
        split_amounts=split_amounts_over_distinct_keys,
    ),
)
