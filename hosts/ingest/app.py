"""The ingest host as a raw ASGI application: bytes in, `intake.track` decides, bytes out.

No framework stands between socket and rule, and little else: this path is most of the service's work.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

import orjson

from hosts.client_address import ClientAddress
from hosts.guard import App, Receive, Scope, Send, is_clear, refuse
from hosts.ingest.body import BODY_SECONDS, ClientGone, read_body
from hosts.ingest.faults import QueueFaults, answer_to
from hosts.ingest.keys import WriteKeys
from hosts.ingest.patience import Patience
from service_core.access.model import Identity
from service_core.intake import track
from service_core.intake.model import Channel
from service_core.intake.ports import IngestQueue, Offer, QueueFailed
from service_core.intake.track import Admitted, Answer, Refused
from service_core.kernel.clock import Clock

_CORS: Final = tuple((name.encode(), value.encode()) for name, value in track.CORS.items())
_JSON: Final = ((b"content-type", b"application/json"), (b"cache-control", b"no-store"), *_CORS)


@dataclass(frozen=True, slots=True)
class Door:
    """What the ingest host stands on."""

    queue: IngestQueue
    keys: WriteKeys
    spend: track.Spend
    clock: Clock
    addresses: ClientAddress = field(default_factory=ClientAddress)
    patience: Patience = field(default_factory=lambda: Patience(BODY_SECONDS))
    queue_faults: QueueFaults = field(default_factory=QueueFaults)


def ingest_app(door: Door, others: App | None = None) -> App:
    """The ASGI application; it guards itself, see `hosts.guard`.

    Args:
        door: what it stands on.
        others: answers every path that is not ``/track``; without it they are 404.
    """

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        is_http = scope["type"] == "http"
        if is_http and not is_clear(scope):
            await refuse(scope, send)
        elif is_http and scope["path"] == "/track":
            await _serve(door, scope, receive, send)
        elif others is not None:
            await others(scope, receive, send)
        elif is_http:
            await _reply(send, _written(track.UNKNOWN_PATH))

    return application


class Written(NamedTuple):
    """An answer as it is sent."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


async def _serve(door: Door, scope: Scope, receive: Receive, send: Send) -> None:
    try:
        written = await _answer(door, scope, receive)
    except ClientGone:
        await refuse(scope, send)  # nobody reads it, but granian would write a 500 in its place
        return
    except Exception as fault:  # noqa: BLE001 - the contract wants an answer to every fault
        written = _written(answer_to(fault))
    await _reply(send, written)


async def _answer(door: Door, scope: Scope, receive: Receive) -> Written:
    """The checks of contract 10.1, in its order, with the waiting in between."""
    early = track.door(scope["method"])
    if early is not None:
        return _written(early)
    headers = scope["headers"]
    sent = track.read_headers(headers)
    with door.patience:
        body = await read_body(receive, track.MAX_BODY, sent.length)
    identity = door.keys.recall(sent.key) or await door.keys.find(sent.key)
    peer = scope.get("client")
    verdict = track.judge(
        body,
        sent,
        identity,
        address=door.addresses.of(peer and peer[0], headers),
        received_at=door.clock(),
        spend=door.spend,
        decode=orjson.loads,
    )
    if isinstance(verdict, Admitted):
        try:
            offer = await door.queue.offer(verdict.arrival)
        except QueueFailed as failure:
            door.queue_faults.tell(failure)
            verdict = track.not_enqueued(failure.detail)
        else:
            queued = offer is Offer.QUEUED
            return _queued(verdict.name, verdict.workspace) if queued else _written(track.duplicate(verdict))
    await _count(door, identity, verdict)
    return _written(verdict.answer)


async def _count(door: Door, identity: Identity | None, refused: Refused) -> None:
    """The ledger knows every event whose key resolved, whatever became of it."""
    if identity is not None and refused.reason is not None:
        key = identity.credential.id
        await door.queue.reject(identity.workspace.id, key, Channel.TRACK, refused.reason, door.clock())


@lru_cache(maxsize=1024)
def _queued(name: str, workspace: str) -> Written:
    """What nearly every request is answered, written once for all events of a name."""
    return _written(track.queued(name, workspace))


def _written(answer: Answer) -> Written:
    body, headers = b"", [*_CORS]
    if answer.body is not None:
        body = orjson.dumps(answer.body)
        headers = [*_JSON, (b"content-length", b"%d" % len(body))]
    headers += [(name.encode(), value.encode()) for name, value in answer.headers.items()]
    return Written(answer.status, headers, body)


async def _reply(send: Send, written: Written) -> None:
    await send({"type": "http.response.start", "status": written.status, "headers": written.headers})
    await send({"type": "http.response.body", "body": written.body})
