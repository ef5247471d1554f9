"""Settings that work and are hardly meant: a deployment starts with them, and says so."""

import logging
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from service_core.access.ports import Directory
from service_core.kernel.settings import Settings

_FREE: Final = (
    "Everybody who reaches this deployment can sign up without paying: signup.checkout is sandbox://. "
    "Name a checkout, or set signup.mode to closed."
)

_NOBODY: Final = (
    "storage.workspace holds no workspace, so every key is refused. Make one with `touchpoint workspace create --name "
    "NAME`, or let somebody sign up."
)

_log = logging.getLogger("touchpoint.settings")


def cautions(settings: Settings) -> list[str]:
    """What whoever runs the deployment should look at, one sentence each."""
    http, signup = settings.http, settings.signup
    addresses = f"http://{http.api}", http.public_url, http.web_url
    free = signup.mode != "closed" and signup.checkout.startswith("sandbox:")
    if free and not all(_is_loopback(urlsplit(address).hostname) for address in addresses):
        return [_FREE]
    return []


def warn(settings: Settings) -> None:
    """Log every caution, one line each."""
    for caution in cautions(settings):
        _log.warning(caution)


async def warn_of_nobody(directory: Directory) -> None:
    """Log that the store of workspaces is empty, as after the settings were pointed at a new one."""
    if not await directory.workspaces():
        _log.warning(_NOBODY)


def _is_loopback(host: str | None) -> bool:
    if host is None:
        return False
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
