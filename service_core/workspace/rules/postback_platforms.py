"""The ad platforms that accept conversions, as the installed senders declare them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from service_core.analytics.connections.declaration import ConnectionDeclaration
from service_core.kernel.unique_index import index_unique_or_startup_error

CUSTOM_EVENT: Final = "custom"
"""The platform event whose name is chosen by the rule."""


@dataclass(frozen=True, slots=True)
class PostbackPlatform:
    """An ad platform that accepts conversions.

    Attributes:
        asset_field: the platform's name of the id that conversions are sent to.
        asset_label: label of that id in messages.
        masked_endpoint: URL that conversions are sent to, without secrets; ``{account}`` and ``{asset}`` are filled in.
        event_names: event names it accepts; empty if these are the names and ids of the connected assets.
        has_browser_pixel: whether the browser script can load its pixel.
        connection: how it is connected, for a platform that is only sent to; None where only its page says so.
    """

    id: str
    label: str
    asset_field: str
    asset_label: str
    masked_endpoint: str
    event_names: tuple[str, ...] = ()
    has_browser_pixel: bool = False
    connection: ConnectionDeclaration | None = None


@dataclass(frozen=True, slots=True)
class PostbackPlatforms:
    """The platforms by id, in the order of their declaration."""

    by_id: Mapping[str, PostbackPlatform]

    @classmethod
    def from_platforms(cls, platforms: Iterable[PostbackPlatform]) -> "PostbackPlatforms":
        """Returns the platforms by id.

        Raises:
            StartupError: two platforms have the same id.
        """
        return cls(
            index_unique_or_startup_error(platforms, lambda p: p.id, lambda p: f"the ad platform {p.id!r}")
        )
