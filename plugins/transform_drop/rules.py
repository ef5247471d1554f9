"""Decides which events are left out."""

import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import translate
from ipaddress import ip_address
from typing import Any, Final

from plugins.transform_drop.settings import DropSettings
from service_core.plugin import DroppedEvent, Transform, TransformFunction, split_url

_IsLeftOut = Callable[[Mapping[str, Any]], bool]


def build_rules(settings: DropSettings) -> TransformFunction | None:
    """Returns the function that the settings ask for; None if they ask for nothing."""
    rules: dict[str, _IsLeftOut] = {}
    if settings.event_names:
        is_name = _match_any(settings.event_names)
        rules["event_name"] = lambda columns: is_name(columns["event_name"])
    if settings.hostnames:
        is_host = _match_any([name.lower().removeprefix("www.") for name in settings.hostnames])
        rules["hostname"] = lambda columns: is_host(_split_page_url(columns)[0])
    if settings.paths:
        is_path = _match_any(settings.paths)
        rules["path"] = lambda columns: is_path(_path_of_page(columns))
    if settings.addresses:
        rules["address"] = lambda columns: _is_in_networks(columns["ip"], settings)
    if not rules:
        return None

    def drop_if_a_rule_fits(columns: Mapping[str, Any]) -> DroppedEvent | None:
        return next(
            (DroppedEvent(reason) for reason, is_left_out in rules.items() if is_left_out(columns)), None
        )

    return drop_if_a_rule_fits


def _match_any(patterns: Sequence[str]) -> Callable[[object], bool]:
    compiled = re.compile("|".join(map(translate, patterns)))
    return lambda text: isinstance(text, str) and compiled.match(text) is not None


def _split_page_url(columns: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Returns host and path of the page's address; two None without one."""
    url = columns["properties.url"]
    return split_url(url)[:2] if isinstance(url, str) and url else (None, None)


def _path_of_page(columns: Mapping[str, Any]) -> str | None:
    path = columns["properties.path"]
    return path if isinstance(path, str) and path else _split_page_url(columns)[1]


def _is_in_networks(address: object, settings: DropSettings) -> bool:
    if not isinstance(address, str):
        return False
    parsed = ip_address(address)
    return any(parsed in network for network in settings.addresses)


TRANSFORM: Final = Transform(
    id="drop",
    label="Left-out traffic",
    reads=("event_name", "ip", "properties.url", "properties.path"),
    build=build_rules,
)
