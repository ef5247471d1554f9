"""Campaign values of an event: UTM tags, click ids and the link tag (contract 10.2, semantics 7.1)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import unquote_plus

from service_core.intake.accept import scalar
from service_core.intake.addresses import MAX_ADDRESS, pairs

UTM: Final = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "utm_id")

CLICK_IDS: Final = (
    "fbclid", "gclid", "gbraid", "wbraid", "ttclid", "oppref", "msclkid", "twclid", "li_fat_id",
    "sclid", "dclid", "epik", "rdt_cid", "obclid", "irclid", "irclickid", "ko_click_id",
)  # fmt: skip
"""Types of click ids in order of precedence."""

_SPELLINGS: Final = MappingProxyType({"ScCid": "sclid", "sccid": "sclid"})
_READ_AS: Final = MappingProxyType({name: name for name in CLICK_IDS} | dict(_SPELLINGS))

COOKIE_IDS: Final = ("fbp", "fbc", "ttp")

PERSONAL: Final = frozenset(
    {*_READ_AS, *COOKIE_IDS, "clickId", "clickIdType", "tp_click_id", "tp_click_id_type"}
)
"""Properties and query parameters that identify a click or a browser: none is kept without consent."""

ON_ADDRESSES: Final = frozenset({*UTM, *_READ_AS, "lyr"})
"""Properties that page addresses carry as query parameters of the same name."""

UNKNOWN: Final = "(not set)"
"""What answers call a value that is absent; whoever sends it says no more than that (contract 2.8)."""

_UTM_NAMES: Final = frozenset(UTM)
_MAX_VALUE: Final = 1024


@dataclass(slots=True)
class Campaign:
    """What an event says about the campaign that brought it.

    Attributes:
        utm: the UTM values present, by name.
        clicks: the click ids present, by type, in order of precedence.
        lyr: tag of a tracking link.
        lent: whether the UTM values are those of the tracking link and were not sent.
    """

    utm: dict[str, str] = field(default_factory=dict)
    clicks: dict[str, str] = field(default_factory=dict)
    lyr: str | None = None
    lent: bool = False

    @property
    def click(self) -> tuple[str | None, str | None]:
        """The first click id by precedence and its type; two None without any."""
        for kind, value in self.clicks.items():
            return value, kind
        return None, None

    @property
    def empty(self) -> bool:
        """Whether the event carries no campaign value, click id or link tag."""
        return not (self.utm or self.clicks or self.lyr)

    def borrow(self, links: Mapping[str, Mapping[str, str]]) -> None:
        """Take the UTM values of its tracking link for sent where it has none (semantics 7.1).

        Args:
            links: UTM values by link tag.
        """
        if links and self.lyr and not self.utm and (utm := links.get(self.lyr)):
            self.utm, self.lent = dict(utm), True

    def values(self) -> Iterator[str]:
        """Every value that was sent."""
        if not self.lent:
            yield from self.utm.values()
        yield from self.clicks.values()
        if self.lyr:
            yield self.lyr


def campaign(properties: Mapping[str, Any]) -> Campaign:
    """Read the campaign values of an event's properties; the install referrer fills what is absent."""
    found = Campaign()
    clicks: dict[str, str] = {}
    _collect(properties, found, clicks, "clickId", "clickIdType")
    installed = properties.get("install_referrer_url")
    if isinstance(installed, str):
        for level in _install_referrer(installed[:MAX_ADDRESS]):
            _collect(level, found, clicks, "tp_click_id", "tp_click_id_type")
    if clicks:
        found.clicks = {kind: clicks[kind] for kind in CLICK_IDS if kind in clicks}
    return found


def tag_alone(properties: Mapping[str, Any]) -> str | None:
    """The link tag of an event without UTM values of its own: its link's count as sent (semantics 7.1)."""
    if "lyr" not in properties and "install_referrer_url" not in properties:
        return None
    found = campaign(properties)
    return None if found.utm else found.lyr


def _collect(
    source: Mapping[str, Any], found: Campaign, clicks: dict[str, str], id_name: str, type_name: str
) -> None:
    for name, sent in source.items():
        if name not in ON_ADDRESSES or (value := text(sent)) is None:
            continue
        if name in _UTM_NAMES:
            found.utm.setdefault(name, value)
        elif name == "lyr":
            found.lyr = found.lyr or value
        else:
            clicks.setdefault(_READ_AS[name], value)
    kind = source.get(type_name)
    if isinstance(kind, str) and kind in _READ_AS and (value := text(source.get(id_name))):
        clicks.setdefault(_READ_AS[kind], value)


def _install_referrer(address: str) -> Iterator[dict[str, str]]:
    """The parameters of an install referrer, then those inside its ``referrer`` parameter."""
    query = address.partition("?")[2] or address
    if "=" not in query:
        query = unquote_plus(query)
    outer = pairs(query)
    yield outer
    if inner := outer.get("referrer"):
        yield pairs(inner)


def text(value: object) -> str | None:
    """A campaign value: text or a number, trimmed and cut; None when empty, unknown or of another type."""
    found = scalar(value)
    return found[:_MAX_VALUE] if found and found != UNKNOWN else None
