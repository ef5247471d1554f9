"""Idempotent requests: the digest of a request, and requests that are still running."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from service_core.access.models import Caller
from service_core.kernel.errors import BadRequest, Conflict
from service_core.kernel.ids import sha256_hex

MAX_IDEMPOTENCY_KEY_LENGTH: Final = 255
RECORD_LIFETIME: Final = timedelta(hours=24)


def idempotency_digest(caller: Caller) -> str | None:
    """Returns a digest of credential, key, method, path and body; None without an ``Idempotency-Key``.

    Raises:
        BadRequest: ``invalid_idempotency_key``.
    """
    request = caller.idempotency
    if request is None:
        return None
    if len(request.key) > MAX_IDEMPOTENCY_KEY_LENGTH:
        raise BadRequest(
            f"Idempotency-Key has at most {MAX_IDEMPOTENCY_KEY_LENGTH} characters", "invalid_idempotency_key"
        )
    parts = (caller.credential.id.hex, request.key, request.method, request.path, request.content)
    return sha256_hex(json.dumps(parts, sort_keys=True, separators=(",", ":")))


def request_in_progress_error() -> Conflict:
    """Returns the error for an identical request while the first is running."""
    return Conflict(
        "An identical request is still running", "idempotency_in_progress", headers={"Retry-After": "1"}
    )


class InFlightRequests:
    """The idempotent requests that this process is executing. The store knows those of other processes."""

    def __init__(self) -> None:
        self._digests: set[str] = set()

    @contextmanager
    def mark_running_or_conflict(self, digest: str | None) -> Iterator[None]:
        """Marks a request as running during the context.

        Raises:
            Conflict: ``idempotency_in_progress``, an identical request is still running.
        """
        if digest is None:
            yield
            return
        if digest in self._digests:
            raise request_in_progress_error()
        self._digests.add(digest)
        try:
            yield
        finally:
            self._digests.discard(digest)
