"""Parses the campaign values of an event: UTM values, click ids and the link tag."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import unquote_plus

from service_core.ingestion.page_urls import MAX_URL_LENGTH, parse_first_query_values
from service_core.ingestion.validation import text_of_string_or_number

UTM_FIELDS: Final = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "utm_id")

CLICK_IDS: Final = (
    "fbclid", "gclid", "gbraid", "wbraid", "ttclid", "oppref", "msclkid", "twclid", "li_fat_id",
    "sclid", "dclid", "epik", "rdt_cid", "obclid", "irclid", "irclickid", "ko_click_id",
)  # fmt: skip
"""Types of click ids in order of precedence."""

_CLICK_ID_ALIASES: Final = MappingProxyType({"ScCid": "sclid", "sccid": "sclid"})
_CLICK_ID_NAMES: Final = MappingProxyType({name: name for name in CLICK_IDS} | dict(_CLICK_ID_ALIASES))

CONSENT_REQUIRED_FIELDS: Final = frozenset(
    {*_CLICK_ID_NAMES, "fbp", "fbc", "ttp", "clickId", "clickIdType", "tp_click_id", "tp_click_id_type"}
)
"""Properties and query parameters that identify a click or a browser: they are removed without consent."""

URL_CAMPAIGN_PARAMETERS: Final = frozenset({*UTM_FIELDS, *_CLICK_ID_NAMES, "lyr"})
"""Properties that page URLs contain as query parameters of the same name."""

NOT_SET: Final = "(not set)"
"""The text for an absent value in answers; a value with this text counts as absent."""

_UTM_NAMES: Final = frozenset(UTM_FIELDS)
_MAX_VALUE_LENGTH: Final = 1024


@dataclass(slots=True)
class Campaign:
    """UTM values, click ids and link tag of one event.

    Attributes:
        utm: the UTM values present, by name.
        click_ids: the click ids present, by type, in order of precedence.
        lyr: tag of a tracking link.
        utm_from_link: whether the UTM values come from the tracking link and were not sent.
    """

    utm: dict[str, str] = field(default_factory=dict)
    click_ids: dict[str, str] = field(default_factory=dict)
    lyr: str | None = None
    utm_from_link: bool = False

    @property
    def first_click_id(self) -> tuple[str | None, str | None]:
        """Returns the click id with the highest precedence and its type; two None if there is none."""
        for kind, value in self.click_ids.items():
            return value, kind
        return None, None

    @property
    def is_empty(self) -> bool:
        """Returns whether the event has no UTM value, click id or link tag."""
        return not (self.utm or self.click_ids or self.lyr)

    def fill_utm_from_link_if_none_sent(self, utm_by_tag: Mapping[str, Mapping[str, str]]) -> None:
        """Sets the UTM values to those of the tracking link of the tag, unless the event has any UTM value.

        Args:
            utm_by_tag: UTM values by link tag.
        """
        if utm_by_tag and self.lyr and not self.utm and (utm := utm_by_tag.get(self.lyr)):
            self.utm, self.utm_from_link = dict(utm), True

    def sent_values_and_link_tag(self) -> Iterator[str]:
        """Yields UTM values that were sent, click ids and the link tag; UTM values of the tracking link are left out."""
        if not self.utm_from_link:
            yield from self.utm.values()
        yield from self.click_ids.values()
        if self.lyr:
            yield self.lyr


def parse_campaign_and_install_referrer(properties: Mapping[str, Any]) -> Campaign:
    """Returns the campaign of an event's properties; the install referrer fills missing values."""
    campaign = Campaign()
    click_ids: dict[str, str] = {}
    _add_missing_campaign_values(properties, campaign, click_ids, "clickId", "clickIdType")
    install_referrer = properties.get("install_referrer_url")
    if isinstance(install_referrer, str):
        for level in _outer_and_nested_referrer_parameters(install_referrer[:MAX_URL_LENGTH]):
            _add_missing_campaign_values(level, campaign, click_ids, "tp_click_id", "tp_click_id_type")
    if click_ids:
        campaign.click_ids = {kind: click_ids[kind] for kind in CLICK_IDS if kind in click_ids}
    return campaign


def campaign_values_of_url(url: object) -> dict[str, str]:
    """Returns the UTM values, click ids and link tag in the query of a URL, by parameter; the first of a repeated one."""
    if not isinstance(url, str) or "?" not in url:
        return {}
    query = url[:MAX_URL_LENGTH].partition("?")[2].partition("#")[0]
    return {
        name: value
        for name, value in parse_first_query_values(query).items()
        if name in URL_CAMPAIGN_PARAMETERS
    }


def link_tag_without_utm(properties: Mapping[str, Any]) -> str | None:
    """Returns the link tag of an event that has no UTM values of its own, else None."""
    if "lyr" not in properties and "install_referrer_url" not in properties:
        return None
    campaign = parse_campaign_and_install_referrer(properties)
    return None if campaign.utm else campaign.lyr


def _add_missing_campaign_values(
    parameters: Mapping[str, Any],
    campaign: Campaign,
    click_ids: dict[str, str],
    click_id_field: str,
    click_type_field: str,
) -> None:
    """Adds campaign values to ``campaign`` and ``click_ids`` in place; values that are set already stay."""
    for name, sent in parameters.items():
        if name not in URL_CAMPAIGN_PARAMETERS or (value := campaign_text(sent)) is None:
            continue
        if name in _UTM_NAMES:
            campaign.utm.setdefault(name, value)
        elif name == "lyr":
            campaign.lyr = campaign.lyr or value
        else:
            click_ids.setdefault(_CLICK_ID_NAMES[name], value)
    kind = parameters.get(click_type_field)
    if (
        isinstance(kind, str)
        and kind in _CLICK_ID_NAMES
        and (value := campaign_text(parameters.get(click_id_field)))
    ):
        click_ids.setdefault(_CLICK_ID_NAMES[kind], value)


def _outer_and_nested_referrer_parameters(install_referrer: str) -> Iterator[dict[str, str]]:
    """Yields the parameters of an install referrer, then those inside its ``referrer`` parameter."""
    query = install_referrer.partition("?")[2] or install_referrer
    if "=" not in query:
        query = unquote_plus(query)
    outer = parse_first_query_values(query)
    yield outer
    if inner := outer.get("referrer"):
        yield parse_first_query_values(inner)


def campaign_text(value: object) -> str | None:
    """Returns a campaign value as trimmed and cut text; None if it is empty, unknown or of another type."""
    text = text_of_string_or_number(value)
    return text[:_MAX_VALUE_LENGTH] if text and text != NOT_SET else None
