"""The device type of a user agent: ``desktop``, ``mobile``, ``tablet``, ``tv`` or ``other``."""

import re
from collections.abc import Iterable
from itertools import groupby
from types import MappingProxyType
from typing import Final, NamedTuple

from device_detector.parser.settings import (  # type: ignore[import-untyped]  # ships no types
    BROWSER_TO_ABBREV,
    MOBILE_ONLY_BROWSERS,
)

from plugins.devices_useragent.client_name import Client
from plugins.devices_useragent.detector_data import Entry, load_entries
from plugins.devices_useragent.operating_system import OperatingSystem
from plugins.devices_useragent.pattern_list import LinearSearch, Pattern, PatternList

_TYPES: Final = MappingProxyType(
    {
        "desktop": "desktop",
        "smartphone": "mobile",
        "phablet": "mobile",
        "feature phone": "mobile",
        "portable media player": "mobile",
        "tablet": "tablet",
        "tv": "tv",
    }
)
"""Type in the detection data -> our type; every other one is ``other``."""

MAX_COMPARED_MODELS: Final = 70
"""Number of models of a brand of which each is compared."""

_NOTEBOOK_SIGN: Final = "fbmd/"
_TV_CLIENTS: Final = frozenset(
    {
        *("Kylo", "Espial TV Browser", "LUJO TV Browser", "LogicUI TV Browser", "Open TV Browser", "Odin"),
        *("Seraphic Sraf", "Opera Devices", "Crow Browser", "Vewd Browser", "TiviMate", "Redline", "TV Bro"),
        *("Quick Search TV", "QJY TV Browser"),
    }
)
_PUFFIN: Final = re.compile(r"puffin/\d[.\d]*[a-z]([dpt])\b")
_PUFFIN_TYPES: Final = MappingProxyType({"d": "desktop", "p": "smartphone", "t": "tablet"})
_DESKTOP_FAMILIES: Final = frozenset(
    {
        *(
            "AmigaOS",
            "BeOS",
            "Chrome OS",
            "Chromium OS",
            "GNU/Linux",
            "IBM",
            "Mac",
            "OpenVMS",
            "Unix",
            "Windows",
        ),
    }
)


class _Signs:
    """Words of agents that imply a device type.

    Attributes:
        tv_protocol: names of protocols that only televisions write.
        frozen_android: Chrome that names neither model nor version of an Android device any more.
        desktop: words of desktop systems.
        no_desktop: words beside which those of desktop systems mean nothing.
    """

    def __init__(self) -> None:
        self.tv_protocol = LinearSearch(
            r"(?:hbbtv|smarttva)/[1-9](?:\.[0-9]){1,2}", r"[ _]shell[ _]\w{6}", "tclwebkit"
        )
        self.frozen_android = LinearSearch(
            r"android 1[0-7][.\d]*; k(?: build/|[;)])", r"android 1[0-7]\) applewebkit"
        )
        self.desktop = LinearSearch(r"\bwindows (?:nt|iot)", r"\bx11; linux x86_64")
        self.no_desktop = LinearSearch(
            *("ce-html", " mozilla/", "andr[o0]id", "tablet", "mobile", "iphone", "windows phone", "ricoh"),
            *("oculusbrowser", "picobrowser", "lenovo", "compatible; msie", "trident/", "tesla/", "xbox"),
            *("fbmd/", r"arm; ?[^)]"),
        )
        self.tv = LinearSearch(
            *("andr0id", r"(?:android(?: uhd)?|google) tv", r"\(lite\) tv", "bravia", "firebolt", " tv$"),
            *("smarttv", "tizen.+ tv .", r"\(tv;", "tv store", "whaletv", "smart tvs", " omi/"),
        )
        self.virtual_reality = LinearSearch(r"android(?: [.0-9]+)?; mobile vr;", " vr ")
        self.android_tablet = LinearSearch(
            *(r"android(?: [.0-9]+)?; tablet;", r"\btablet(?: p?(?:[^pc]|$)|[^ ]|$)", "-tablet$"),
            *("opera tablet", "pad/apad"),
        )
        self.android_mobile = LinearSearch(r"android(?: [.0-9]+)?; mobile;", "-mobile$")
        self.chrome = LinearSearch(r"\bchrome/[.0-9]")
        self.mobile = LinearSearch(r"\b(?:mobile|elibom)")
        self.touch = LinearSearch(r"\btouch")


class _Agent(NamedTuple):
    """Facts for the rules of agents without a known brand."""

    text: str
    os_name: str
    os_family: str
    os_version: str


class DeviceTypeDetector:
    """Detects the type of a device by its brand and model, else by signs in the agent."""

    def __init__(self) -> None:
        self._signs = _Signs()
        self._notebooks = _DeviceList(load_entries("device/notebooks"))
        self._appliances = _DeviceList(
            load_entries(
                *("device/consoles", "device/car_browsers", "device/cameras", "device/portable_media_player")
            )
        )
        self._mobiles = _DeviceList(load_entries("device/mobiles"))

    def detect(self, agent: str, system: OperatingSystem | None, client: Client | None) -> str | None:
        """Returns the device type of a normalized user agent; None if nothing names or implies one."""
        described = _Agent(
            agent,
            system.name if system else "",
            system.family if system else "",
            system.version if system else "",
        )
        named = self._type_by_model(agent)
        detected = self._correct_type(named, described, client)
        return None if detected is None else _TYPES.get(detected, "other")

    def _type_by_model(self, agent: str) -> str | None:
        if self._signs.tv_protocol.matches(agent):
            return "tv"
        if _NOTEBOOK_SIGN in agent and (notebook := self._notebooks.type_of(agent)):
            return notebook
        if self._signs.frozen_android.matches(agent) or self._has_desktop_sign(agent):
            return None
        return self._appliances.type_of(agent) or self._mobiles.type_of(agent)

    def _has_desktop_sign(self, agent: str) -> bool:
        return self._signs.desktop.matches(agent) and not self._signs.no_desktop.matches(agent)

    def _correct_type(self, named: str | None, agent: _Agent, client: Client | None) -> str | None:
        """Returns the type named by the model unless a sign of the agent contradicts it, or else the implied type."""
        if named == "feature phone" and agent.os_family == "Android":
            return "smartphone"
        implied = named or self._implied_type(agent)
        if agent.os_name == "KaiOS":
            return "feature phone"
        if agent.os_name == "Coolita OS" or (client and client.name in _TV_CLIENTS):
            return "tv"
        if named != "wearable" and self._signs.tv.matches(agent.text):
            return "tv"
        if implied is None and agent.os_family in _DESKTOP_FAMILIES and not _is_mobile_only(client):
            return "desktop"
        return implied

    def _implied_type(self, agent: _Agent) -> str | None:
        """Returns the type that the system and words of an agent of no known model imply."""
        if puffin := _PUFFIN.search(agent.text):
            return _PUFFIN_TYPES[puffin[1]]
        if agent.os_name == "Java ME":
            return "feature phone"
        if agent.os_family == "Android":
            return self._implied_android_type(agent)
        if agent.os_name == "Windows RT" or (agent.os_name == "Windows" and agent.os_version.startswith("8")):
            return "tablet" if self._signs.touch.matches(agent.text) else None
        return None

    def _implied_android_type(self, agent: _Agent) -> str | None:
        """Returns the type of an Android device: Chrome writes ``Mobile`` on phones and not on tablets."""
        signs = self._signs
        if signs.virtual_reality.matches(agent.text):
            return "wearable"
        if signs.android_tablet.matches(agent.text):
            return "tablet"
        if signs.android_mobile.matches(agent.text):
            return "smartphone"
        if signs.chrome.matches(agent.text):
            return "smartphone" if signs.mobile.matches(agent.text) else "tablet"
        major = agent.os_version.partition(".")[0]
        if major in {"0", "1"}:
            return "smartphone"
        return "tablet" if major == "3" else None


class _DeviceList:
    """Brands with the device types of their models."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        brands = tuple(entries)
        self._brands = PatternList(brand.pattern._replace(version="", name="") for brand in brands)
        self._models = [_ModelTypes(brand) for brand in brands]

    def type_of(self, agent: str) -> str | None:
        """Returns the device type of the first brand that matches; None if none does or it has no type."""
        match = self._brands.first_match(agent)
        return None if match is None else self._models[match.index].type_of(agent)


class _ModelTypes:
    """Device types of the models of a brand.

    Neighbouring models of one type are one pattern. Of a brand with many models only those whose type is not that of
    the brand are compared: of 10,600 models that leaves a third, with the same type for 99.8 % of the agents.
    """

    def __init__(self, brand: Entry) -> None:
        self._brand_type = brand.device_type
        self._types: list[str | None] = []
        patterns = []
        for device_type, models in groupby(_compared_models(brand), key=lambda model: model[1]):
            self._types.append(device_type)
            patterns.append(Pattern("|".join(model.expression for model, _ in models)))
        self._patterns = PatternList(patterns) if patterns else None

    def type_of(self, agent: str) -> str | None:
        match = self._patterns.first_match(agent) if self._patterns else None
        return self._brand_type if match is None else self._types[match.index]


def _compared_models(brand: Entry) -> list[tuple[Pattern, str | None]]:
    models = list(brand.models)
    while models and models[-1][1] == brand.device_type:
        models.pop()
    if len(models) <= MAX_COMPARED_MODELS:
        return models
    return [model for model in models if model[1] != brand.device_type]


def _is_mobile_only(client: Client | None) -> bool:
    """Returns whether the client is a browser that exists for phones and tablets only."""
    return client is not None and BROWSER_TO_ABBREV.get(client.name.lower()) in MOBILE_ONLY_BROWSERS
