"""The ingest host as a raw ASGI application: bytes in, `intake.track` decides, bytes out.

No framework stands between socket and rule: this path is most of the service's work.
"""

import logging
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

import orjson

from hosts.guard import App, Receive, Scope, Send
from hosts.ingest.address import ClientAddress
from hosts.ingest.body import ClientGone, read_body
from service_core.access.authenticate import Authenticator
from service_core.access.lookup import Unknown
from service_core.access.model import Identity
from service_core.intake import track
from service_core.intake.model import Channel
from service_core.intake.ports import IngestQueue, QueueFailed
from service_core.intake.track import Admitted, Answer, Refused
from service_core.kernel.clock import Clock

_log = logging.getLogger("touchpoint.ingest")

_CORS: Final = tuple((name.encode(), value.encode()) for name, value in track.CORS.items())
_JSON: Final = (b"content-type", b"application/json")
_NO_STORE: Final = (b"cache-control", b"no-store")
_TOO_SLOW: Final = Answer(408, {"error": "Request body took too long"}, {"connection": "close"})


@dataclass(frozen=True, slots=True)
class Door:
    """What the ingest host stands on."""

    queue: IngestQueue
    authenticator: Authenticator
    spend: track.Spend
    clock: Clock
    addresses: ClientAddress = field(default_factory=ClientAddress)


def ingest_app(door: Door, others: App | None = None) -> App:
    """The ASGI application.

    Args:
        door: what it stands on.
        others: answers every path that is not ``/track``; without it they are 404.
    """

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (scope["path"] == "/track" or others is None):
            await _serve(door, scope, receive, send)
        elif others is not None:
            await others(scope, receive, send)

    return application


async def _serve(door: Door, scope: Scope, receive: Receive, send: Send) -> None:
    try:
        answer = await _answer(door, scope, receive)
    except ClientGone:
        return
    except TimeoutError:
        answer = _TOO_SLOW
    except Exception:  # noqa: BLE001 - the contract wants an answer to every fault
        error_id = uuid4()
        _log.exception("request failed", extra={"error_id": str(error_id)})
        answer = track.fault(error_id)
    await _reply(send, answer)


async def _answer(door: Door, scope: Scope, receive: Receive) -> Answer:
    """The checks of contract 10.1, in its order, with the waiting in between."""
    if scope["path"] != "/track":
        return track.UNKNOWN_PATH
    early = track.door(scope["method"])
    if early is not None:
        return early
    body = await read_body(receive, track.MAX_BODY)
    sent = track.read_headers(scope["headers"])
    identity = await _identify(door.authenticator, sent.key)
    peer = scope.get("client")
    verdict = track.judge(
        body,
        sent,
        identity,
        address=door.addresses.of(peer and peer[0], scope["headers"]),
        received_at=door.clock(),
        spend=door.spend,
        decode=orjson.loads,
    )
    outcome = await _enqueue(door.queue, verdict) if isinstance(verdict, Admitted) else verdict
    if isinstance(outcome, Answer):
        return outcome
    await _count(door, identity, outcome)
    return outcome.answer


async def _identify(authenticator: Authenticator, key: str | None) -> Identity | None:
    if key is None:
        return None
    remembered = authenticator.recall_write_key(key)
    return await authenticator.identify_write_key(key) if isinstance(remembered, Unknown) else remembered


async def _enqueue(queue: IngestQueue, admitted: Admitted) -> Answer | Refused:
    try:
        offer = await queue.offer(admitted.arrival)
    except QueueFailed as failure:
        return track.not_enqueued(failure.detail)
    return track.outcome(admitted, offer)


async def _count(door: Door, identity: Identity | None, refused: Refused) -> None:
    """The ledger knows every event whose key resolved, whatever became of it."""
    if identity is not None and refused.reason is not None:
        key = identity.credential.id
        await door.queue.reject(identity.workspace.id, key, Channel.TRACK, refused.reason, door.clock())


async def _reply(send: Send, answer: Answer) -> None:
    headers = [*_CORS, *((name.encode(), value.encode()) for name, value in answer.headers.items())]
    body = b""
    if answer.body is not None:
        body = orjson.dumps(answer.body)
        headers += (_JSON, _NO_STORE, (b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
