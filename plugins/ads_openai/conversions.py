"""Conversions sent to OpenAI: one call a batch, which is taken as a whole or not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from plugins.ads_openai.client import API, SECONDS, opened
from plugins.ads_openai.payload import SHAPES, body_of
from service_core.plugin import (
    Accepted,
    Clock,
    Conversion,
    Destination,
    Platform,
    SendOutcome,
    Terms,
    Throttle,
    ad_calls,
    check_answer,
    system_clock,
)

OPENAI: Final = Platform(
    "openai", "OpenAI", "pixel_id", "pixel", "https://bzr.openai.com/…/events?pid={asset}", tuple(SHAPES)
)
TERMS: Final = Terms(
    age_limit=timedelta(days=7),
    batch=1_000,
    throttle=Throttle(1_000, timedelta(hours=1)),
    click_types=("oppref",),
    click_window=timedelta(days=30),
    match_keys=frozenset({"oppref", "email", "user_id", "visitor_id", "anonymous_id"}),
    valued=frozenset({"order_created"}),
)


@dataclass(frozen=True, slots=True)
class OpenAIConversions:
    """Implements `ConversionSender`.

    Attributes:
        api: address of the Conversions API with its version.
        clock: the present.
    """

    api: str = API
    clock: Clock = system_clock
    platform: Platform = OPENAI
    terms: Terms = TERMS

    @property
    def id(self) -> str:
        """``openai``."""
        return self.platform.id

    def at(self, address: str) -> "OpenAIConversions":
        """The same, of another version or behind a proxy."""
        return replace(self, api=address)

    async def send(
        self, destination: Destination, conversions: Sequence[Conversion], secrets: Mapping[str, str]
    ) -> Sequence[SendOutcome]:
        """Post the conversions of a pixel.

        Raises:
            PlatformDown: OpenAI takes none now.
            PlatformRefused: the key is not good, or not for this pixel.
            BatchRejected: OpenAI takes none, because of some.
        """
        body, pixel = body_of(destination, conversions), {"pid": destination.asset_id}
        async with ad_calls.within(SECONDS, "OpenAI"), opened(secrets, self.clock) as calls:
            answer = await calls.post(f"{self.api}/events", body, params=pixel)
        check_answer(answer.status, _code(answer), answer.retry_after)
        answer.content()
        return [Accepted(answer.status)] * len(conversions)


def _code(answer: ad_calls.JsonAnswer) -> str | None:
    """The code of an error, else its type; its message may repeat what was sent."""
    error = answer.told.get("error") if isinstance(answer.told, dict) else None
    known = error if isinstance(error, dict) else {}
    return next((text for text in (known.get("code"), known.get("type")) if isinstance(text, str)), None)
