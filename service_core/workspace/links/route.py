"""What the link host knows of a redirect link, and where that leads a request (semantics 14)."""

from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from service_core.intake.campaign import campaign
from service_core.workspace.links.model import UTM, Link
from service_core.workspace.links.tagging import encoded, in_ascii, pairs_of, tagged, with_parameter

REFERRER: Final = "referrer"
"""The parameter by which Google Play tells an installed app what brought it."""

_APPLE: Final = ("iphone", "ipad", "ipod")
_PLAY_HOSTS: Final = frozenset({"play.google.com", "market.android.com"})


class Route(BaseModel):
    """The way from a slug to its targets."""

    model_config = ConfigDict(frozen=True)

    workspace_id: UUID
    link_id: UUID
    lyr: str
    destination_url: str
    ios_url: str | None
    android_url: str | None
    utm: dict[str, str]

    @classmethod
    def of(cls, link: Link) -> "Route":
        """The route of a link."""
        return cls(
            workspace_id=link.workspace_id,
            link_id=link.id,
            lyr=link.tracking_identifier,
            destination_url=link.destination_url,
            ios_url=link.ios_url,
            android_url=link.android_url,
            utm={name: value for name in UTM if (value := getattr(link, name))},
        )

    def location(self, query: str, user_agent: str | None) -> str:
        """Where a request is sent, as a header can say it.

        Args:
            query: of the request, as received.
            user_agent: decides between the web and the addresses for devices.
        """
        target = self._target((user_agent or "").lower())
        brought = pairs_of(query)
        if not _is_play(target):
            return in_ascii(tagged(target, self.lyr, self.utm, brought))
        referrer = self._referrer(target, brought)
        outer = [(name, value) for name, value in brought if name != REFERRER]
        return in_ascii(with_parameter(tagged(target, self.lyr, self.utm, outer), REFERRER, referrer))

    def _target(self, agent: str) -> str:
        if self.ios_url and any(device in agent for device in _APPLE):
            return self.ios_url
        if self.android_url and "android" in agent:
            return self.android_url
        return self.destination_url

    def _referrer(self, target: str, brought: list[tuple[str, str]]) -> str:
        """What the store hands to the app: the target's own referrer, the tag, UTM values, a click id."""
        own = pairs_of(dict(pairs_of(urlsplit(target).query)).get(REFERRER, ""))
        sent = campaign(dict(brought))
        click, kind = sent.click
        known = {**self.utm, **sent.utm}
        if click and kind:
            known |= {"tp_click_id": click, "tp_click_id_type": kind}
        kept = {name: value for name, value in own if name != "lyr"}
        return encoded({"lyr": self.lyr, **known, **kept}.items())


def _is_play(target: str) -> bool:
    parts = urlsplit(target)
    return parts.scheme == "market" or parts.hostname in _PLAY_HOSTS
