"""Warnings at start about settings that work but are probably a mistake."""

import logging
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from service_core.access.ports import CredentialStore
from service_core.kernel.settings import Settings

_FREE_SIGNUP_WARNING: Final = (
    "Everybody who reaches this deployment can sign up without paying: signup.checkout is sandbox://. "
    "Name a checkout, or set signup.mode to closed."
)

_NO_WORKSPACE_WARNING: Final = (
    "storage.workspace holds no workspace, so every key is refused. Make one with `touchpoint workspace create --name "
    "NAME`, or let somebody sign up."
)

_log = logging.getLogger("touchpoint.settings")


def list_public_free_signup_warnings(settings: Settings) -> list[str]:
    """Returns one sentence for each setting that is probably a mistake."""
    http, signup = settings.http, settings.signup
    addresses = f"http://{http.api}", http.effective_api_url, http.effective_app_url
    free = signup.mode != "closed" and signup.checkout.startswith("sandbox:")
    if free and not all(
        _is_loopback_address_or_localhost(urlsplit(address).hostname) for address in addresses
    ):
        return [_FREE_SIGNUP_WARNING]
    return []


def log_startup_warnings(settings: Settings) -> None:
    """Logs every startup warning on its own line."""
    for warning in list_public_free_signup_warnings(settings):
        _log.warning(warning)


async def warn_if_no_workspace(directory: CredentialStore) -> None:
    """Logs a warning when the workspace store has no workspace, as after a change of its setting."""
    if not await directory.list_workspaces():
        _log.warning(_NO_WORKSPACE_WARNING)


def _is_loopback_address_or_localhost(host: str | None) -> bool:
    if host is None:
        return False
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
