"""A postback in the outbox and its state transitions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple
from uuid import UUID

RETRY_DELAYS: Final = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=24),
)
"""Pause after each attempt; the attempt after the last pause is the last one."""


class PostbackStatus(StrEnum):
    """State of a postback; the last three are final."""

    QUEUED = "queued"
    RETRYING = "retrying"
    SENT = "sent"
    FAILED = "failed"
    SKIPPED = "skipped"


PENDING_STATES: Final = frozenset({PostbackStatus.QUEUED, PostbackStatus.RETRYING})


class SkipReason(StrEnum):
    """Why a conversion was not sent."""

    DUPLICATE = "duplicate"
    NO_MATCH_KEY = "no_match_key"
    MISSING_VALUE = "missing_value"
    MISSING_CURRENCY = "missing_currency"
    TOO_OLD = "too_old"
    CONSENT_DENIED = "consent_denied"
    RULE_INACTIVE = "rule_inactive"
    NOT_CONNECTED = "not_connected"


class PostbackQueue(NamedTuple):
    """Identifies a queue: all postbacks for one account of a platform."""

    workspace_id: UUID
    platform: str
    account_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Postback:
    """One event sent by one rule; unique by both.

    Of the person it holds only the user agent, which no event row has, until it is done; everything
    else is read when it is sent.

    Attributes:
        event_at: when the event happened.
        platform_event: name the platform gets; ``is_custom`` when the rule gave it.
        platform_event_id: order id, else event id.
        is_test: the rule was in test mode; it counts nowhere.
        order_settles_by: until when it waits at most for further reports of its order; None if it waits for none.
        order_settled: whether its order is settled, so that it is sent with the value of the order.
        request_masked: what the latest attempt said, without anything of the person.
        done_at: when it became final.
    """

    id: UUID
    workspace_id: UUID
    rule_id: UUID
    event_id: str
    event_at: datetime
    platform: str
    account_id: str
    asset_id: str
    platform_event: str
    platform_event_id: str
    created_at: datetime
    next_attempt_at: datetime | None
    is_custom: bool = False
    is_test: bool = False
    test_code: str | None = None
    value: int | None = None
    currency: str | None = None
    order_settles_by: datetime | None = None
    order_settled: bool = False
    user_agent: str | None = field(default=None, repr=False)
    status: PostbackStatus = PostbackStatus.QUEUED
    reason: SkipReason | None = None
    attempts: int = 0
    http_status: int | None = None
    error_code: str | None = None
    request_masked: Mapping[str, Any] | None = None
    sent_at: datetime | None = None
    done_at: datetime | None = None

    @property
    def queue(self) -> PostbackQueue:
        """Returns the queue of the postback."""
        return PostbackQueue(self.workspace_id, self.platform, self.account_id)


def mark_skipped(postback: Postback, reason: SkipReason, now: datetime) -> Postback:
    """Returns the postback as skipped, with the reason."""
    return replace(_finish(postback, PostbackStatus.SKIPPED, now), reason=reason)


def mark_settled(
    postback: Postback, platform_event_id: str, value: int | None, currency: str | None
) -> Postback:
    """Returns the postback with the value of its settled order; amount and currency are known together or not at all."""
    return replace(
        postback,
        platform_event_id=platform_event_id,
        value=value if currency else None,
        currency=None if value is None else currency,
        order_settled=True,
    )


def mark_too_old(postback: Postback, now: datetime) -> Postback:
    """Returns the postback as too old: skipped, or failed if it was tried before."""
    if postback.attempts == 0:
        return mark_skipped(postback, SkipReason.TOO_OLD, now)
    return replace(
        _finish(postback, PostbackStatus.FAILED, now), error_code=postback.error_code or SkipReason.TOO_OLD
    )


def missing_value_reason(value: tuple[int | None, str | None], *, required: bool) -> SkipReason | None:
    """Returns why a postback is skipped whose amount or currency is missing; None if nothing is missing.

    Args:
        value: amount in minor units and currency.
        required: whether the platform refuses the event without a value.
    """
    amount, currency = value
    if amount is None:
        return SkipReason.MISSING_VALUE if required else None
    return SkipReason.MISSING_CURRENCY if currency is None else None


def mark_sent(postback: Postback, http_status: int | None, now: datetime) -> Postback:
    """Returns the postback as sent."""
    return replace(
        _finish(_count_attempt(postback, http_status, None), PostbackStatus.SENT, now),
        sent_at=now,
    )


def mark_failed(postback: Postback, code: str, http_status: int | None, now: datetime) -> Postback:
    """Returns the postback as failed for good."""
    return _finish(_count_attempt(postback, http_status, code), PostbackStatus.FAILED, now)


def schedule_retry_or_fail(
    postback: Postback,
    code: str,
    now: datetime,
    age_limit: timedelta,
    *,
    http_status: int | None = None,
    retry_after: float | None = None,
) -> Postback:
    """Returns the postback with its next attempt, or failed if attempts or age limit are exhausted."""
    tried = _count_attempt(postback, http_status, code)
    if tried.attempts > len(RETRY_DELAYS):
        return _finish(tried, PostbackStatus.FAILED, now)
    at = now + max(RETRY_DELAYS[postback.attempts], timedelta(seconds=retry_after or 0))
    if at > postback.event_at + age_limit:
        return _finish(tried, PostbackStatus.FAILED, now)
    return replace(tried, status=PostbackStatus.RETRYING, next_attempt_at=at)


def _count_attempt(postback: Postback, http_status: int | None, code: str | None) -> Postback:
    return replace(postback, attempts=postback.attempts + 1, http_status=http_status, error_code=code)


def _finish(postback: Postback, status: PostbackStatus, now: datetime) -> Postback:
    """Returns the postback in a final state, without personal data."""
    return replace(postback, status=status, next_attempt_at=None, user_agent=None, done_at=now)
