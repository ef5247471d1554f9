"""Clients that publish their metadata at an https address, which is their client id.

See the draft "OAuth Client ID Metadata Document" and the authorization of MCP 2025-11-25.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from service_core.access.oauth.client_registration import (
    sanitize_and_cut_display_name,
    validate_and_deduplicate_redirect_uris,
)
from service_core.access.oauth.models import OAuthClient, OAuthError, redirect_host
from service_core.access.oauth.ports import ClientMetadataFetcher, ClientMetadataUnavailable
from service_core.access.oauth.redirect_uris import MAX_URI_LENGTH, is_https_loopback_or_app_uri
from service_core.kernel.clock import Clock

MIN_CACHE_LIFETIME: Final = timedelta(minutes=5)
MAX_CACHE_LIFETIME: Final = timedelta(hours=24)
ERROR_CACHE_LIFETIME: Final = timedelta(minutes=1)
"""How long a failure is returned without another attempt."""

_CACHE_CAPACITY: Final = 500
_MAX_CONCURRENT_FETCHES: Final = 8
_SECRET_FIELDS: Final = frozenset({"client_secret", "client_secret_expires_at"})


@dataclass(frozen=True, slots=True)
class _CachedClient:
    client: OAuthClient | OAuthError
    expires_at: datetime


class ClientMetadataDocuments:
    """Finds clients by the address of their metadata document; documents are cached.

    Args:
        fetcher: reads documents from public addresses.
        clock: current time.
    """

    def __init__(self, fetcher: ClientMetadataFetcher, clock: Clock) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._cache: OrderedDict[str, _CachedClient] = OrderedDict()
        self._fetches = asyncio.Semaphore(_MAX_CONCURRENT_FETCHES)

    async def find_client(self, client_id: str) -> OAuthClient:
        """Returns the client whose document lies at an address for which `is_client_metadata_url` is true.

        Raises:
            OAuthError: ``invalid_client``: the document cannot be read, or does not describe a client accepted here.
        """
        async with self._fetches:
            cached = self._cache.get(client_id)
            if cached is None or cached.expires_at <= self._clock():
                cached = await self._fetch_client_or_error(client_id)
                self._cache[client_id] = cached
                self._cache.move_to_end(client_id)
                while len(self._cache) > _CACHE_CAPACITY:
                    self._cache.popitem(last=False)
        if isinstance(cached.client, OAuthError):
            raise OAuthError(cached.client.error, cached.client.description)
        return cached.client

    async def _fetch_client_or_error(self, client_id: str) -> _CachedClient:
        now = self._clock()
        try:
            document = await self._fetcher.fetch_document(client_id)
            client = parse_client_metadata(document.body, client_id, now)
        except ClientMetadataUnavailable as fault:
            error = OAuthError(
                "invalid_client", f"The metadata document of the program cannot be read: {fault}"
            )
            return _CachedClient(error, now + ERROR_CACHE_LIFETIME)
        except OAuthError as fault:
            return _CachedClient(fault, now + ERROR_CACHE_LIFETIME)
        lifetime = max(MIN_CACHE_LIFETIME, min(MAX_CACHE_LIFETIME, document.max_age))
        return _CachedClient(client, now + lifetime)


def is_client_metadata_url(client_id: str) -> bool:
    """Returns whether a client id is the address of a metadata document: https, with a path, without dot segments."""
    if len(client_id) > MAX_URI_LENGTH or not is_https_loopback_or_app_uri(client_id):
        return False
    parts = urlsplit(client_id)
    segments = parts.path.split("/")
    return client_id.startswith("https://") and len(parts.path) > 1 and not {".", ".."} & set(segments)


def parse_client_metadata(body: bytes, client_id: str, now: datetime) -> OAuthClient:
    """Returns the client that a metadata document describes.

    Raises:
        OAuthError: ``invalid_client``: it is another client's document, or not one of a public client.
    """
    try:
        metadata = json.loads(body)
    except ValueError:
        raise _invalid_client_error("it is no JSON") from None
    if not isinstance(metadata, Mapping) or metadata.get("client_id") != client_id:
        raise _invalid_client_error("its client_id is not its address")
    if _SECRET_FIELDS & metadata.keys() or metadata.get("token_endpoint_auth_method", "none") != "none":
        raise _invalid_client_error("only public clients are accepted (token_endpoint_auth_method none)")
    try:
        uris = validate_and_deduplicate_redirect_uris(metadata.get("redirect_uris"))
    except OAuthError as fault:
        raise _invalid_client_error(fault.description) from None
    name = sanitize_and_cut_display_name(metadata.get("client_name")) or redirect_host(client_id)
    return OAuthClient(client_id, name, uris, now)


def _invalid_client_error(reason: str) -> OAuthError:
    return OAuthError("invalid_client", f"The metadata document of the program is not valid: {reason}")
