"""The Google Ads API over HTTP, and its errors."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

from service_core.plugin import Clock, CredentialsRejected, PlatformUnavailable, platform_http

API_URL: Final = "https://googleads.googleapis.com/v26"
TOKEN_URL: Final = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
MANAGER: Final = "login_customer_id"
"""Id of a manager account; with it, the accounts below that one are read."""
TIMEOUT_SECONDS: Final = 120.0
_CREDENTIAL_NAMES: Final = ("developer_token", "client_id", "client_secret", "refresh_token")
_CLOSED_ACCOUNT_CODES: Final = frozenset({"CUSTOMER_NOT_ENABLED"})
"""Accounts that were cancelled, or never finished: they are no fault of the credentials."""
_REJECTED_TOKEN_ERRORS: Final = frozenset({"invalid_grant", "invalid_client", "unauthorized_client"})
"""Errors of the token endpoint for credentials that are not valid."""


class _AccountClosed(CredentialsRejected):
    """The account is cancelled or was never set up, whatever the credentials."""


@asynccontextmanager
async def open_authorized_client(
    base_url: str, token_url: str, secrets: Mapping[str, str], clock: Clock
) -> AsyncIterator["GoogleClient"]:
    """Requests an access token and yields a client that sends it.

    Args:
        base_url: base URL with the version.
        token_url: URL of the token endpoint.
        secrets: credentials for both.
        clock: returns the current time.

    Raises:
        PlatformUnavailable: there is nothing to call with, or no access token now.
        CredentialsRejected: the credentials are missing, or not good.
    """
    platform_http.require_credentials(secrets, _CREDENTIAL_NAMES)
    opened = platform_http.open_json_client("Google", "httpx2", clock, timeout_seconds=TIMEOUT_SECONDS)
    async with opened as client:
        headers = await _request_access_token_headers(client, token_url, secrets)
        yield GoogleClient(base_url, replace(client, headers=headers))


def strip_dashes(text: str | None) -> str:
    """An id without the dashes it is shown with."""
    return (text or "").replace("-", "").strip()


async def _request_access_token_headers(
    calls: platform_http.JsonHttpClient, token_url: str, secrets: Mapping[str, str]
) -> dict[str, str]:
    """Requests an access token; returns the headers of every call."""
    credentials = {name: secrets[name] for name in ("client_id", "client_secret", "refresh_token")}
    answer = await calls.request_json("POST", token_url, data={"grant_type": "refresh_token", **credentials})
    headers = {
        "Authorization": f"Bearer {_payload_or_raise_api_error(answer)['access_token']}",
        "developer-token": secrets["developer_token"],
    }
    manager = strip_dashes(secrets.get(MANAGER))
    return headers | ({"login-customer-id": manager} if manager else {})


@dataclass(frozen=True, slots=True)
class GoogleClient:
    """Requests to the Google Ads API."""

    api: str
    calls: platform_http.JsonHttpClient

    async def list_accessible_customer_ids(self) -> list[str]:
        """Ids of the accounts the person may open directly."""
        payload = _payload_or_raise_api_error(
            await self.calls.request_json("GET", f"{self.api}/customers:listAccessibleCustomers")
        )
        return [name.rpartition("/")[2] for name in payload.get("resourceNames") or ()]

    async def search(self, customer_id: str, query: str) -> list[Mapping[str, Any]]:
        """Returns the rows of a query.

        Raises:
            PlatformUnavailable: Google cannot be read now.
            CredentialsRejected: the credentials are not good for it.
        """
        pieces = _payload_or_raise_api_error(
            await self.post_without_status_check(
                f"customers/{customer_id}/googleAds:searchStream", {"query": query}
            )
        )
        return [row for piece in pieces for row in piece.get("results") or ()]

    async def search_or_empty_if_account_closed(
        self, customer_id: str, query: str
    ) -> list[Mapping[str, Any]]:
        """Returns the rows of `search`; none if the account is closed."""
        try:
            return await self.search(customer_id, query)
        except _AccountClosed:
            return []

    async def post_without_status_check(self, path: str, body: Any) -> platform_http.JsonResponse:
        """Sends a POST request and returns the response, whatever its status.

        Raises:
            PlatformUnavailable: there was no answer.
        """
        return await self.calls.post_json(f"{self.api}/{path}", body)


def error_details(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the details of an error as the failures of the Google Ads API list them."""
    return [fault for detail in status.get("details") or () for fault in detail.get("errors") or ()]


def codes_by_kind(faults: list[Mapping[str, Any]]) -> dict[str, str]:
    """Codes of failures by their kind, such as ``quotaError``."""
    return {kind: code for fault in faults for kind, code in (fault.get("errorCode") or {}).items()}


def retry_delay_seconds(answer: platform_http.JsonResponse, faults: list[Mapping[str, Any]]) -> float | None:
    """Returns the seconds to wait: of the header ``Retry-After``, else of the quota errors."""
    return answer.retry_after or _longest_quota_delay_seconds(faults)


def response_error(answer: platform_http.JsonResponse) -> Any:
    """Returns the error of a response: an object, a code of the token endpoint, or None."""
    first = answer.payload[0] if isinstance(answer.payload, list) and answer.payload else answer.payload
    return first.get("error") if isinstance(first, dict) else None


def _payload_or_raise_api_error(response: platform_http.JsonResponse) -> Any:
    """Returns the JSON payload of a successful response; raises the API error of any other."""
    payload = response.require_json()
    if not response.is_success:
        _raise_api_error(response)
    return payload


def _raise_api_error(response: platform_http.JsonResponse) -> NoReturn:
    """Raises the error for a response that is not successful: closed account, credentials or unavailability."""
    error = response_error(response)
    if isinstance(error, str):
        reason = f"Google gives no access token ({error})."
        raise (
            CredentialsRejected(reason)
            if error in _REJECTED_TOKEN_ERRORS
            else PlatformUnavailable(reason, response.retry_after)
        )
    faults = error_details(error or {})
    codes = codes_by_kind(faults)
    message = next((fault["message"] for fault in faults if fault.get("message")), None)
    reason = f"Google says: {message or (error or {}).get('message') or f'status {response.status}'}"
    if _CLOSED_ACCOUNT_CODES & set(codes.values()):
        raise _AccountClosed(reason)
    if response.status in {401, 403} and "quotaError" not in codes:
        raise CredentialsRejected(reason)
    raise PlatformUnavailable(reason, retry_delay_seconds(response, faults), response.status)


def _longest_quota_delay_seconds(errors: list[Mapping[str, Any]]) -> float | None:
    """Returns the longest delay of quota errors in seconds; the API writes ``"30s"``."""
    quota_details = ((fault.get("details") or {}).get("quotaErrorDetails") or {} for fault in errors)
    texts = [str(details.get("retryDelay", "")).removesuffix("s") for details in quota_details]
    return max((float(text) for text in texts if text.replace(".", "", 1).isdecimal()), default=None)
