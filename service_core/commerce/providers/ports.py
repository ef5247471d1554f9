"""Ports of revenue providers."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable
from uuid import UUID

from service_core.commerce.providers.models import (
    MappedMessage,
    PolledMessage,
    RevenueProviderInfo,
    WebhookDelivery,
)


@runtime_checkable
class RevenueProvider(Protocol):
    """A revenue provider, built once per deployment; whose account it is arrives with each call. It does no I/O."""

    @property
    def id(self) -> str:
        """Id of the provider, of its connections, its webhook and its events."""

    @property
    def info(self) -> RevenueProviderInfo:
        """Returns the properties of the provider, such as its id, label and credentials."""

    def verify_signature(self, delivery: WebhookDelivery, secrets: Mapping[str, str]) -> bool:
        """Whether the provider signed these bytes, compared in constant time; False without its secret.

        Where it signs the time, too, that has to be within 300 seconds of ``received_at``.
        """

    def map_message(
        self, message: Mapping[str, Any], delivery: WebhookDelivery, account_id: str
    ) -> MappedMessage:
        """Returns what a verified message is mapped to.

        The same message, delivered again, says the same: ids and times come from what is signed.

        Args:
            message: the body, read as JSON.
            delivery: for values that only the headers have, such as the kind of message.
            account_id: whose it is unless the message says so, for the natural keys of subscriptions; the
                same for all messages of a connection.

        Raises:
            ValueError: it is not what the provider documents; the text says what is missing.
        """


@runtime_checkable
class WebhookSource(Protocol):
    """A product whose webhooks become events, and never money, such as a form or an e-mail tool. It does no I/O."""

    @property
    def id(self) -> str:
        """Id of the source, of its connections, its webhook and its events."""

    @property
    def info(self) -> RevenueProviderInfo:
        """Returns the names of its events, and how it is connected."""

    def verify_signature(self, delivery: WebhookDelivery, secrets: Mapping[str, str]) -> bool:
        """As `RevenueProvider.verify_signature`."""

    def map_message(
        self, message: Mapping[str, Any], delivery: WebhookDelivery, account_id: str
    ) -> MappedMessage:
        """As `RevenueProvider.map_message`. Amounts in the properties are kept as ``sent_revenue`` and the like.

        Raises:
            ValueError: it is not what the product documents; the text says what is missing.
        """


@dataclass(frozen=True, slots=True)
class PollRequest:
    """A request for everything that happened since a time.

    Attributes:
        secrets: the credentials of the connection.
        accounts: ids that are noted of it, such as the name of a shop.
        since: aware UTC; None for as far back as the provider gives.
        excluded_kinds: kinds of messages that are not wanted.
        processed_ids: returns those of some message ids that were stored before and need not be fetched.
    """

    secrets: Mapping[str, str]
    accounts: tuple[str, ...]
    since: datetime | None
    excluded_kinds: Collection[str]
    processed_ids: Callable[[Collection[str]], Awaitable[Collection[str]]]


@runtime_checkable
class PollableProvider(RevenueProvider, Protocol):
    """A revenue provider that tells what happened when it is asked, too."""

    def can_poll(self, secrets: Mapping[str, str]) -> bool:
        """Whether there is a credential to ask it with; webhooks take another one."""

    def poll_messages(self, request: PollRequest) -> AsyncGenerator[Sequence[PolledMessage], None]:
        """Yields the messages page by page, in any order; the caller closes the generator.

        `map_message` gives the same result and id for a message, whether it was sent or polled.

        Raises:
            PlatformUnavailable: it cannot be read now.
            CredentialsRejected: the credentials are not good.
        """

    def with_base_url(self, base_url: str) -> "PollableProvider":
        """Returns the same provider at another base URL: scheme, host and version, without a trailing slash."""


class ProcessedMessages(Protocol):
    """Ids of all processed messages of providers, kept for ever: a repeat is recognised however late it comes."""

    async def find_processed_ids(
        self, workspace_id: UUID, provider: str, message_ids: Collection[str]
    ) -> frozenset[str]:
        """Returns which of some messages are stored.

        Raises:
            StoreUnavailable: the store cannot be read.
        """

    async def mark_processed(self, workspace_id: UUID, provider: str, message_ids: Collection[str]) -> None:
        """Stores ids of processed messages; idempotent. They stay when the connection is removed."""
