"""Ports of postbacks: senders of conversions and their limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Final, Protocol, runtime_checkable

from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.delivery.postbacks.models import Conversion, Destination, SendOutcome
from service_core.workspace.rules.postback_platforms import PostbackPlatform

_AUTH_STATUSES: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_RETRYABLE_STATUSES: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


class BatchRejected(Exception):
    """The platform rejects a batch because of some of its conversions; it is split and sent again, down to one.

    Args:
        code: the platform's own, never its message; as of `Rejected`.
        http_status: of the answer.
    """

    def __init__(self, code: str, http_status: int | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.http_status = http_status


@dataclass(frozen=True, slots=True)
class Throttle:
    """Maximum number of calls per account in a time window; a setting may override it."""

    calls: int
    per: timedelta


@dataclass(frozen=True, slots=True)
class SendLimits:
    """Age, batch and rate limits of a platform, and the fields it matches by.

    Attributes:
        age_limit: how old one may be when it is sent.
        batch_size: how many of them one call takes.
        throttle: how often it may be called.
        click_types: types of click ids it knows, the one that counts most first.
        click_window: how long before a conversion a click of the person may lie.
        match_keys: fields of `Customer` and types of click ids, any of which suffices to find the person.
        value_required: platform events that are refused without a value.
    """

    age_limit: timedelta
    batch_size: int
    throttle: Throttle
    click_types: tuple[str, ...]
    click_window: timedelta
    match_keys: frozenset[str]
    value_required: frozenset[str] = frozenset()


@runtime_checkable
class ConversionSender(Protocol):
    """Sends conversions to one ad platform. Built once per deployment; each call names the account.

    It is stateless, waits for nothing but its own request, and ends that within 30 seconds.
    """

    @property
    def id(self) -> str:
        """Id of the platform and of its connections."""

    @property
    def platform(self) -> PostbackPlatform:
        """Returns what a rule may name: assets, events, and the masked address of the platform."""

    @property
    def limits(self) -> SendLimits:
        """Returns the limits and formats of the platform."""

    async def send(
        self, destination: Destination, conversions: Sequence[Conversion], secrets: Mapping[str, str]
    ) -> Sequence[SendOutcome]:
        """Send some conversions by one call.

        Args:
            destination: where all of them go.
            conversions: at least one, at most as many as its terms say, the oldest first.
            secrets: credentials of the connection, by name.

        Returns:
            What became of each, in their order.

        Raises:
            PlatformUnavailable: none was taken, and the same call may work later.
            CredentialsRejected: the credentials are not good.
            BatchRejected: none was taken, because of some.
        """


@runtime_checkable
class RelocatableSender(ConversionSender, Protocol):
    """A sender whose base URL can be changed, for example to a newer API version."""

    def with_base_url(self, base_url: str) -> ConversionSender:
        """Returns the same sender with another base URL, without a trailing slash."""


def raise_for_status(http_status: int, code: str | None = None, retry_after: float | None = None) -> None:
    """Raises the error for an HTTP status of 400 or more.

    A platform that tells of bad credentials by another status than 401 and 403 is judged by its sender.

    Args:
        http_status: of the answer.
        code: the platform's own, when it tells one.
        retry_after: seconds of its header ``Retry-After``, when it has one.

    Raises:
        PlatformUnavailable: 408, 429 and 5xx.
        CredentialsRejected: 401 and 403.
        BatchRejected: any other from 400.
    """
    error_code = code or f"http_{http_status}"
    if http_status in _RETRYABLE_STATUSES or http_status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise PlatformUnavailable(f"It answered {http_status}.", retry_after, http_status)
    if http_status in _AUTH_STATUSES:
        raise CredentialsRejected(f"It answered {http_status} ({error_code}).")
    if http_status >= HTTPStatus.BAD_REQUEST:
        raise BatchRejected(error_code, http_status)
