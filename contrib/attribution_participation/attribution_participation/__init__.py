"""Attribution models by participation: ``first_and_last`` and ``participation``."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from service_core.plugin import (
    AttributionModel,
    DataDrivenModel,
    PluginData,
    PluginInfo,
    RuleBasedModel,
    TouchKey,
    TouchPath,
    Weighting,
    hook,
)

FIRST_AND_LAST: Final = RuleBasedModel(
    id="first_and_last",
    label="First and last",
    description="The first and the last touch share a conversion in halves, and those between get nothing.",
    weighting=Weighting.POSITION_BASED,
    endpoint_share=0.5,
    ignore_direct=True,
)


def count_converted_paths(paths: Sequence[TouchPath]) -> Mapping[TouchKey, float]:
    """Returns the number of conversions in whose path each key stands, however often."""
    weights: Counter[TouchKey] = Counter()
    for path in paths:
        for key in set(path.keys):
            weights[key] += path.converted
    return dict(weights)


PARTICIPATION: Final = DataDrivenModel(
    id="participation",
    label="Participation",
    description="Keys share the conversions by the number of converted paths in which they stand.",
    fit=count_converted_paths,
)


@hook
def plugin_info() -> PluginInfo:
    """The declaration: the models see paths of events, and no person."""
    return PluginInfo(label="Participation", icon="%", reads=(PluginData.EVENTS,))


@hook
def attribution_models() -> Iterable[AttributionModel]:
    """Both models."""
    return (FIRST_AND_LAST, PARTICIPATION)
