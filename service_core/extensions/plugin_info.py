"""The declaration of a plugin about itself, and the version of the plugin API."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import BaseModel

API_VERSION: Final = "1.0"
"""Version of the plugin API: names may join in a minor version, and leave or change only in a major version."""

_VERSION_PATTERN: Final = re.compile(r"^(\d+)\.(\d+)$")


class PluginData(StrEnum):
    """Kind of data that a plugin reads."""

    EVENTS = "events"
    """Events and what is computed from them."""
    PERSONAL_DATA = "personal_data"
    """E-mail addresses, names, IP addresses and other identifiers of people."""
    PAYMENTS = "payments"
    """Orders, payments and subscriptions."""
    CREDENTIALS = "credentials"
    """Secrets of connections."""
    WORKSPACES = "workspaces"
    """Workspaces, members, keys and settings."""


@dataclass(frozen=True)
class PluginInfo:
    """Declaration of a plugin. Its name is that of its entry point, its version that of its package.

    Attributes:
        label: name that people read, such as ``Whop``.
        api_version: version of the plugin API that the plugin was made for, such as ``1.0``.
        version: version of a plugin without a package; empty for that of the package.
        icon: one or two characters shown beside the label.
        homepage: URL of its documentation; empty for that of the package.
        settings: model of the table ``[plugins.NAME]`` of the settings file; operations get its value by its type.
        hosts: names of the hosts that the plugin calls, such as ``api.example.com``.
        reads: kinds of data that the plugin reads.
    """

    label: str = ""
    api_version: str = API_VERSION
    version: str = ""
    icon: str = ""
    homepage: str = ""
    settings: type[BaseModel] | None = None
    hosts: tuple[str, ...] = ()
    reads: tuple[PluginData, ...] = ()


def describe_wrong_field_type(info: PluginInfo) -> str | None:
    """Returns which field of a declaration has a value of a wrong type; None if each fits."""
    texts = ("label", "api_version", "version", "icon", "homepage")
    for name in texts:
        if not isinstance(getattr(info, name), str):
            return f"{name} is {getattr(info, name)!r}, which is no text"
    if not _is_tuple_of(info.hosts, str):
        return f"hosts is {info.hosts!r}, which is no tuple of texts"
    if not _is_tuple_of(info.reads, PluginData):
        return f"reads is {info.reads!r}, which is no tuple of PluginData"
    if info.settings is not None and not _is_model(info.settings):
        return f"settings is {info.settings!r}, which is no class of pydantic.BaseModel"
    return None


def _is_tuple_of(value: object, kind: type) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(item, kind) for item in value)


def _is_model(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel)


def describe_unsupported_api_version(wanted: str, provided: str = API_VERSION) -> str | None:
    """Returns why a plugin made for one version of the API cannot run on another; None if it can.

    Args:
        wanted: the version the plugin was made for.
        provided: the version of this service.
    """
    matched, own = _VERSION_PATTERN.match(wanted), _VERSION_PATTERN.match(provided)
    if matched is None or own is None:
        return f"its API version {wanted!r} is no version such as {provided!r}"
    major, minor = int(matched[1]), int(matched[2])
    if major != int(own[1]) or minor > int(own[2]):
        return f"it was made for version {wanted} of the plugin API, and this service has version {provided}"
    return None
