"""The ad platforms conversions can be sent to: each is what an installed sender says of itself (semantics 13.4)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from service_core.kernel.unique_index import index_unique

CUSTOM_EVENT: Final = "custom"
"""A platform event whose name the rule gives itself."""


@dataclass(frozen=True, slots=True)
class PostbackPlatform:
    """An ad platform as a rule needs it.

    Attributes:
        asset_field: what the platform calls the id that conversions go to.
        asset: what people call it.
        endpoint: where conversions go, with what may be shown of it: ``{account}`` and ``{asset}``.
        events: names it takes; empty where the names are those of the account's own assets.
        has_browser_pixel: whether the browser script can load its pixel.
    """

    id: str
    label: str
    asset_field: str
    asset_label: str
    masked_endpoint: str
    event_names: tuple[str, ...] = ()
    has_browser_pixel: bool = False


@dataclass(frozen=True, slots=True)
class PostbackPlatforms:
    """Platforms by id, in the order of their declaration."""

    by_id: Mapping[str, PostbackPlatform]

    @classmethod
    def of(cls, platforms: Iterable[PostbackPlatform]) -> "PostbackPlatforms":
        """Check and freeze.

        Raises:
            StartupError: two of one id.
        """
        return cls(index_unique(platforms, lambda p: p.id, lambda p: f"the ad platform {p.id!r}"))
