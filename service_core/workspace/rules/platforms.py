"""The ad platforms conversions can be sent to, and the names they take (semantics 13.2, 13.4)."""

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


_META: Final = (
    "Purchase", "AddToCart", "InitiateCheckout", "Lead", "CompleteRegistration", "Subscribe", "StartTrial",
    "ViewContent", "Search", "AddPaymentInfo", "PageView", "AddToWishlist", "Contact", "Schedule",
    "CustomizeProduct", "Donate", "FindLocation", "SubmitApplication", CUSTOM,
)  # fmt: skip
_TIKTOK: Final = (
    "CompletePayment", "AddToCart", "InitiateCheckout", "SubmitForm", "CompleteRegistration", "ViewContent", "Search",
    "AddPaymentInfo", "AddToWishlist", "PlaceAnOrder", "Contact", "Download", "Subscribe", CUSTOM,
)  # fmt: skip
_OPENAI: Final = (
    "order_created", "items_added", "checkout_started", "lead_created", "registration_completed",
    "subscription_created", "trial_started", CUSTOM,
)  # fmt: skip

PLATFORMS: Final = (
    Platform("meta", "Meta", "pixel_id", "pixel", "https://graph.facebook.com/…/{asset}/events", _META),
    Platform(
        "google",
        "Google",
        "conversion_action_id",
        "conversion action",
        "https://googleads.googleapis.com/…/customers/{account}:uploadClickConversions",
    ),
    Platform(
        "tiktok",
        "TikTok",
        "pixel_id",
        "pixel",
        "https://business-api.tiktok.com/open_api/…/event/track/",
        _TIKTOK,
    ),
    Platform("openai", "OpenAI", "pixel_id", "pixel", "https://bzr.openai.com/…/events?pid={asset}", _OPENAI),
)
"""Every platform this version knows by name."""


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
