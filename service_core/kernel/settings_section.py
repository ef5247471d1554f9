"""The base of settings sections, and the types of their values."""

from ipaddress import ip_network
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict

from service_core.kernel.listen_address import parse_listen_address


def _validate_listen_address(address: str) -> str:
    parse_listen_address(address)
    return address


def _validate_optional_listen_address(address: str) -> str:
    return _validate_listen_address(address) if address else address


def _validate_network(text: str) -> str:
    try:
        ip_network(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not an IP address or network, such as 10.0.0.7 or 10.0.0.0/8"
        ) from None
    return text


def _validate_public_url(url: str) -> str:
    parts = urlsplit(url)
    if url and (parts.scheme not in {"http", "https"} or not parts.hostname):
        raise ValueError(f"{url!r} is not a URL of a host; write it as https://analytics.example.com")
    return url


def _validate_host_name(name: str) -> str:
    if any(sign in name for sign in "/@ "):
        raise ValueError(f"{name!r} is not a host name; write only the name, such as go.example.com")
    return name


def _validate_internal_token(token: str) -> str:
    if token and (len(token) < MIN_TOKEN_LENGTH or not token.isascii()):
        raise ValueError(f"write a token of at least {MIN_TOKEN_LENGTH} ASCII characters, or none")
    return token


MIN_TOKEN_LENGTH: Final = 24
ListenAddress = Annotated[str, AfterValidator(_validate_listen_address)]
"""``HOST:PORT``."""
OptionalListenAddress = Annotated[str, AfterValidator(_validate_optional_listen_address)]
"""``HOST:PORT``, or an empty text."""
HostName = Annotated[str, AfterValidator(_validate_host_name)]
"""The name of a host, without scheme and path."""
InternalToken = Annotated[str, AfterValidator(_validate_internal_token)]
"""A secret of at least `MIN_TOKEN_LENGTH` ASCII characters, or an empty text."""
PublicUrl = Annotated[str, AfterValidator(_validate_public_url)]
"""An http or https URL, or an empty text."""
NetworkText = Annotated[str, AfterValidator(_validate_network)]
"""An IP address, or a network with its prefix length."""


class SettingsSection(BaseModel):
    """A section of the settings file: frozen, unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)
