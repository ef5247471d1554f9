"""Sends a batch of conversions to one platform account and evaluates the outcome of each."""

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from traceback import format_tb
from typing import Final, NamedTuple

from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.delivery.postbacks.build_conversion import redact_conversion
from service_core.delivery.postbacks.circuit_breaker import (
    AccountHealth,
    record_auth_failure,
    record_call_and_pause_at_limit,
    record_failure_and_pause_after_several,
    record_success,
)
from service_core.delivery.postbacks.models import (
    Accepted,
    Conversion,
    Deferred,
    Destination,
    Rejected,
    SendOutcome,
)
from service_core.delivery.postbacks.ports import BatchRejected, ConversionSender, Throttle
from service_core.delivery.postbacks.postback import Postback, mark_failed, mark_sent, schedule_retry_or_fail
from service_core.kernel.clock import Clock

CALL_SECONDS: Final = 60.0
"""A sender ends its request by itself in half of that."""

_SAFE_CODE: Final = re.compile(r"[A-Za-z0-9_.:/-]{1,64}")
_log: Final = logging.getLogger("touchpoint.postbacks")


class PreparedPostback(NamedTuple):
    """A postback and the conversion built for it."""

    postback: Postback
    conversion: Conversion


@dataclass(slots=True)
class AccountSender:
    """Sends batches to one account and tracks its health.

    Attributes:
        throttle: that of the sender, or of the settings.
        auth_error: why the credentials were refused, once they were.
    """

    sender: ConversionSender
    throttle: Throttle
    secrets: Mapping[str, str]
    health: AccountHealth
    clock: Clock
    auth_error: str | None = None

    def allows_call(self) -> bool:
        """Returns whether a call may be made now."""
        return self.auth_error is None and self.health.allows_call(self.clock())

    async def send_batch(self, destination: Destination, batch: Sequence[PreparedPostback]) -> list[Postback]:
        """Sends a batch in one call; returns the resulting postbacks, none if the credentials were rejected.

        Raises:
            BatchRejected: none of several was taken, because of some.
        """
        self.health = record_call_and_pause_at_limit(self.health, self.throttle, self.clock())
        batch = [
            prepared._replace(
                postback=replace(prepared.postback, request_masked=redact_conversion(prepared.conversion))
            )
            for prepared in batch
        ]
        try:
            outcomes = await self._call_sender_within_a_minute(
                destination, [prepared.conversion for prepared in batch]
            )
        except CredentialsRejected as fault:
            self.health, self.auth_error = record_auth_failure(self.health), str(fault)
            return []
        except BatchRejected as fault:
            self.health = record_success(self.health)
            if len(batch) > 1:
                raise
            outcomes = [Rejected(fault.code, fault.http_status)]
        except PlatformUnavailable as fault:
            return self._record_failure_and_schedule_retries(batch, fault)
        except Exception as fault:  # noqa: BLE001 - a plugin's mistake stays with its account
            # Its text may repeat what was sent, so only its type and place are logged.
            frames = "".join(format_tb(fault.__traceback__))
            _log.error("the sender of %s failed: %s\n%s", self.sender.id, type(fault).__name__, frames)
            return self._record_failure_and_schedule_retries(
                batch, PlatformUnavailable("It failed."), "sender_failed"
            )
        self.health = record_success(self.health)
        return [
            self._apply_outcome(prepared.postback, outcome)
            for prepared, outcome in zip(batch, outcomes, strict=True)
        ]

    async def _call_sender_within_a_minute(
        self, destination: Destination, conversions: Sequence[Conversion]
    ) -> Sequence[SendOutcome]:
        try:
            async with asyncio.timeout(CALL_SECONDS):
                outcomes = await self.sender.send(destination, conversions, self.secrets)
        except TimeoutError:
            raise PlatformUnavailable("It did not answer in time.") from None
        if len(outcomes) != len(conversions):
            raise ValueError("a sender answers for each conversion")
        return outcomes

    def _record_failure_and_schedule_retries(
        self, batch: Sequence[PreparedPostback], error: PlatformUnavailable, code: str = "unavailable"
    ) -> list[Postback]:
        self.health = record_failure_and_pause_after_several(self.health, self.clock(), error.retry_after)
        outcome = Deferred(code, error.http_status, error.retry_after)
        return [self._apply_outcome(prepared.postback, outcome) for prepared in batch]

    def _apply_outcome(self, postback: Postback, outcome: SendOutcome) -> Postback:
        now = self.clock()
        match outcome:
            case Accepted(http_status):
                return mark_sent(postback, http_status, now)
            case Rejected(code, http_status):
                return mark_failed(postback, _safe_error_code(code), http_status, now)
            case Deferred(code, http_status, retry_after):
                return schedule_retry_or_fail(
                    postback,
                    _safe_error_code(code),
                    now,
                    self.sender.limits.age_limit,
                    http_status=http_status,
                    retry_after=retry_after,
                )


def _safe_error_code(code: str) -> str:
    """Returns an error code that is safe to store; a free-text message is replaced."""
    return code if _SAFE_CODE.fullmatch(code) else "unreadable"
