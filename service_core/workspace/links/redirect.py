"""The redirect of a link and its target URL for a request."""

from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from service_core.ingestion.campaign import parse_campaign_and_install_referrer
from service_core.ingestion.channel_rules.sources import ANDROID_STORE_HOSTS
from service_core.workspace.links.link_url import (
    append_missing_link_parameters,
    encode_query,
    parse_query,
    replace_parameter,
    to_ascii_url,
)
from service_core.workspace.links.models import UTM_PARAMETERS, TrackingLink

PLAY_REFERRER: Final = "referrer"
"""Query parameter by which the Android app store passes the link to the installed app."""

_APPLE_DEVICES: Final = ("iphone", "ipad", "ipod")


class Redirect(BaseModel):
    """The target URLs of a redirect link, with what is appended to them."""

    model_config = ConfigDict(frozen=True)

    workspace_id: UUID
    link_id: UUID
    lyr: str
    destination_url: str
    ios_url: str | None
    android_url: str | None
    utm: dict[str, str]

    @classmethod
    def from_link(cls, link: TrackingLink) -> "Redirect":
        """Returns the redirect of a link."""
        return cls(
            workspace_id=link.workspace_id,
            link_id=link.id,
            lyr=link.tracking_identifier,
            destination_url=link.destination_url,
            ios_url=link.ios_url,
            android_url=link.android_url,
            utm={name: value for name in UTM_PARAMETERS if (value := getattr(link, name))},
        )

    def target_url(self, query: str, user_agent: str | None) -> str:
        """Returns the URL that a request is redirected to, in ASCII.

        Args:
            query: query string of the request, as received.
            user_agent: selects the URL for iOS, Android or the web.
        """
        target = self._url_for_device((user_agent or "").lower())
        params = parse_query(query)
        if not _is_play_store_url(target):
            return to_ascii_url(append_missing_link_parameters(target, self.lyr, self.utm, params))
        referrer = self._merged_install_referrer(target, params)
        outer = [(name, value) for name, value in params if name != PLAY_REFERRER]
        return to_ascii_url(
            replace_parameter(
                append_missing_link_parameters(target, self.lyr, self.utm, outer), PLAY_REFERRER, referrer
            )
        )

    def _url_for_device(self, lower_case_user_agent: str) -> str:
        if self.ios_url and any(device in lower_case_user_agent for device in _APPLE_DEVICES):
            return self.ios_url
        if self.android_url and "android" in lower_case_user_agent:
            return self.android_url
        return self.destination_url

    def _merged_install_referrer(self, target: str, params: list[tuple[str, str]]) -> str:
        """Returns the install referrer: the one of the target URL with tag, UTM values and click id added."""
        own = parse_query(dict(parse_query(urlsplit(target).query)).get(PLAY_REFERRER, ""))
        sent = parse_campaign_and_install_referrer(dict(params))
        click, kind = sent.first_click_id
        added = {**self.utm, **sent.utm}
        if click and kind:
            added |= {"tp_click_id": click, "tp_click_id_type": kind}
        existing = {name: value for name, value in own if name != "lyr"}
        return encode_query({"lyr": self.lyr, **added, **existing}.items())


def _is_play_store_url(target: str) -> bool:
    parts = urlsplit(target)
    return parts.scheme == "market" or parts.hostname in ANDROID_STORE_HOSTS
