"""One call to a platform: whether it may be made, and what it makes of each conversion in it."""

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from traceback import format_tb
from typing import Final, NamedTuple

from service_core.commerce.platform_faults import PlatformDown, PlatformRefused
from service_core.delivery.postbacks.breaker import AccountState, answered, counted, refused, unanswered
from service_core.delivery.postbacks.conversions import masked
from service_core.delivery.postbacks.model import (
    Accepted,
    Conversion,
    Deferred,
    Destination,
    Rejected,
    SendOutcome,
)
from service_core.delivery.postbacks.ports import BatchRejected, ConversionSender, Throttle
from service_core.delivery.postbacks.postback import Postback, accepted, deferred, rejected
from service_core.kernel.clock import Clock

CALL_SECONDS: Final = 60.0
"""A sender ends its request by itself in half of that."""

_CODE: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_log: Final = logging.getLogger("touchpoint.postbacks")


class Waiting(NamedTuple):
    """A postback with what a sender gets of it."""

    postback: Postback
    conversion: Conversion


@dataclass(slots=True)
class Line:
    """The line to one account; it remembers how the account stands.

    Attributes:
        throttle: that of the sender, or of the settings.
        refusal: why the credentials were refused, once they were.
    """

    sender: ConversionSender
    throttle: Throttle
    secrets: Mapping[str, str]
    state: AccountState
    clock: Clock
    refusal: str | None = None

    def is_open(self) -> bool:
        """Whether a call may be made."""
        return self.refusal is None and self.state.is_open(self.clock())

    async def send(self, destination: Destination, some: Sequence[Waiting]) -> list[Postback]:
        """Send some conversions by one call; returns each as it stands then, none when the credentials were refused.

        Raises:
            BatchRejected: none of several was taken, because of some.
        """
        self.state = counted(self.state, self.throttle, self.clock())
        some = [
            each._replace(postback=replace(each.postback, request_masked=masked(each.conversion)))
            for each in some
        ]
        try:
            outcomes = await self._called(destination, [each.conversion for each in some])
        except PlatformRefused as fault:
            self.state, self.refusal = refused(self.state), str(fault)
            return []
        except BatchRejected as fault:
            self.state = answered(self.state)
            if len(some) > 1:
                raise
            outcomes = [Rejected(fault.code, fault.http_status)]
        except PlatformDown as fault:
            return self._unanswered(some, fault)
        except Exception as fault:  # noqa: BLE001 - a plugin's mistake stays with its account
            # Its text may repeat what was sent, so its kind and its place alone are told.
            frames = "".join(format_tb(fault.__traceback__))
            _log.error("the sender of %s failed: %s\n%s", self.sender.id, type(fault).__name__, frames)
            return self._unanswered(some, PlatformDown("It failed."), "sender_failed")
        self.state = answered(self.state)
        return [self._ended(one.postback, outcome) for one, outcome in zip(some, outcomes, strict=True)]

    async def _called(
        self, destination: Destination, conversions: Sequence[Conversion]
    ) -> Sequence[SendOutcome]:
        try:
            async with asyncio.timeout(CALL_SECONDS):
                outcomes = await self.sender.send(destination, conversions, self.secrets)
        except TimeoutError:
            raise PlatformDown("It did not answer in time.") from None
        if len(outcomes) != len(conversions):
            raise ValueError("a sender answers for each conversion")
        return outcomes

    def _unanswered(
        self, some: Sequence[Waiting], fault: PlatformDown, code: str = "unavailable"
    ) -> list[Postback]:
        self.state = unanswered(self.state, self.clock(), fault.retry_after)
        outcome = Deferred(code, fault.http_status, fault.retry_after)
        return [self._ended(each.postback, outcome) for each in some]

    def _ended(self, postback: Postback, outcome: SendOutcome) -> Postback:
        now = self.clock()
        match outcome:
            case Accepted(http_status):
                return accepted(postback, http_status, now)
            case Rejected(code, http_status):
                return rejected(postback, _told(code), http_status, now)
            case Deferred(code, http_status, retry_after):
                return deferred(
                    postback,
                    _told(code),
                    now,
                    self.sender.terms.age_limit,
                    http_status=http_status,
                    retry_after=retry_after,
                )


def _told(code: str) -> str:
    """A code as it is kept: a message, which may repeat what was sent, is none."""
    return code if _CODE.fullmatch(code) else "unreadable"
