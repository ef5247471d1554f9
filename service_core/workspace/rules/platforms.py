"""The ad platforms conversions can be sent to: each is what an installed sender says of itself (semantics 13.4)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from service_core.kernel.unique import unique

CUSTOM: Final = "custom"
"""A platform event whose name the rule gives itself."""


@dataclass(frozen=True, slots=True)
class Platform:
    """An ad platform as a rule needs it.

    Attributes:
        asset_field: what the platform calls the id that conversions go to.
        asset: what people call it.
        endpoint: where conversions go, with what may be shown of it: ``{account}`` and ``{asset}``.
        events: names it takes; empty where the names are those of the account's own assets.
    """

    id: str
    label: str
    asset_field: str
    asset: str
    endpoint: str
    events: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Platforms:
    """Platforms by id, in the order of their declaration."""

    by_id: Mapping[str, Platform]

    @classmethod
    def of(cls, platforms: Iterable[Platform]) -> "Platforms":
        """Check and freeze.

        Raises:
            StartupError: two of one id.
        """
        return cls(unique(platforms, lambda p: p.id, lambda p: f"the ad platform {p.id!r}"))
