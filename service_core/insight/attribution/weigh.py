"""How one conversion is shared by its touches: the definition every store's credits agree with."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from service_core.insight.ports import Credit, Weighting

MILLION = 1_000_000
"""Credits are counted in millionths of a conversion (contract 2.8)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One touch of a path as a rule sees it."""

    at: datetime
    direct: bool


def weigh(credit: Credit, path: Sequence[Step], at: datetime) -> list[float]:
    """Shares of a conversion's touches by a rule-based model (semantics 9).

    Args:
        credit: the rule; its window is applied here.
        path: the person's touches in time order, those after the conversion included or not.
        at: instant of the conversion.

    Returns:
        One share per touch of ``path``: 0 for a touch out of the window or passed over. They sum to
        1, or are all 0 when no touch counts.
    """
    counted = [i for i, step in enumerate(path) if at - credit.window <= step.at <= at]
    if credit.drop_direct and not all(path[i].direct for i in counted):
        counted = [i for i in counted if not path[i].direct]
    shares = [0.0] * len(path)
    if credit.weighting is Weighting.DECAY:
        # Counted from the latest touch, the weights of a long window cannot all round to zero.
        weights = [2 ** ((path[i].at - path[counted[-1]].at) / credit.half_life) for i in counted]
    else:
        weights = _by_position(credit, len(counted))
    whole = sum(weights)
    for i, weight in zip(counted, weights, strict=True):
        shares[i] = weight / whole
    return shares


def _by_position(credit: Credit, n: int) -> list[float]:
    match credit.weighting:
        case Weighting.FIRST:
            return [float(i == 0) for i in range(n)]
        case Weighting.LAST:
            return [float(i == n - 1) for i in range(n)]
        case Weighting.ENDS if n > 2:  # noqa: PLR2004 - a middle exists from three touches on
            middle = (1 - 2 * credit.ends_share) / (n - 2)
            return [credit.ends_share, *[middle] * (n - 2), credit.ends_share]
        case _:
            return [1.0] * n
