"""A request performed once: what a retry repeats, and who is still at work on it (contract 2.12)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from service_core.access.model import Caller
from service_core.kernel.errors import BadRequest, Conflict
from service_core.kernel.ids import digest

LONGEST_KEY: Final = 255
KEPT: Final = timedelta(hours=24)


def ticket_of(who: Caller) -> str | None:
    """A digest of credential, key, method, path and body; None when the request may be repeated.

    Raises:
        BadRequest: ``invalid_idempotency_key``.
    """
    once = who.once
    if once is None:
        return None
    if len(once.key) > LONGEST_KEY:
        raise BadRequest(f"Idempotency-Key has at most {LONGEST_KEY} characters", "invalid_idempotency_key")
    parts = (who.credential.id.hex, once.key, once.method, once.path, once.content)
    return digest(json.dumps(parts, sort_keys=True, separators=(",", ":")))


def in_progress() -> Conflict:
    """What an identical request hears while the first is running."""
    return Conflict(
        "An identical request is still running", "idempotency_in_progress", headers={"Retry-After": "1"}
    )


class Underway:
    """The tickets this process is at work on; the store knows those of other processes."""

    def __init__(self) -> None:
        self._tickets: set[str] = set()

    @contextmanager
    def hold(self, ticket: str | None) -> Iterator[None]:
        """Work on a ticket.

        Raises:
            Conflict: ``idempotency_in_progress``, an identical request is still running.
        """
        if ticket is None:
            yield
            return
        if ticket in self._tickets:
            raise in_progress()
        self._tickets.add(ticket)
        try:
            yield
        finally:
            self._tickets.discard(ticket)
