"""Routes beside `/track` that browsers ask without a secret (contract 11.1 to 11.3)."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from hosts.client_address import ClientAddress
from hosts.guard import App, Receive, Scope, Send, refuse
from hosts.ingest import page_script
from hosts.ingest.body import BODY_SECONDS, ClientGone, read_body
from hosts.ingest.containers import Containers
from hosts.ingest.faults import answer_to
from hosts.ingest.patience import Patience
from hosts.ingest.replying import reply
from service_core.intake import origins, track
from service_core.intake.accept import TEXTS
from service_core.intake.batch import FOREIGN, Asked, Batches, public_workspace
from service_core.intake.model import Reason
from service_core.intake.track import Answer, Sent
from service_core.kernel.errors import Unavailable503
from service_core.workspace.scripts.container import EMPTY

PLACES: Final = frozenset({"/", "/batch", "/container-scripts", page_script.PATH})
_TOO_LARGE: Final = Answer(413, {"error": TEXTS[Reason.TOO_LARGE]})
_NO_BODY: Final = Answer(400, {"error": TEXTS[Reason.NO_BODY]})
_INVALID: Final = Answer(400, {"error": TEXTS[Reason.INVALID_JSON]})


@dataclass(frozen=True, slots=True)
class Companions:
    """What these routes stand on."""

    batches: Batches
    containers: Containers
    addresses: ClientAddress = field(default_factory=ClientAddress)
    patience: Patience = field(default_factory=lambda: Patience(BODY_SECONDS))


Work = Callable[[Companions, Asked], Awaitable[Answer]]


def companion_app(stands_on: Companions) -> App:
    """The ASGI application, behind one that guards; every other path is not found."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        work = _work(scope["method"], scope["path"])
        if work is not None:
            await _serve(stands_on, work, scope, receive, send)
        elif scope["path"] == page_script.PATH:
            await page_script.serve(scope, send)
        else:
            await reply(send, track.UNKNOWN_PATH, track.CORS)

    return application


def _work(method: str, path: str) -> Work | None:
    """What a path does; the bare address of the host takes batches, and is no page."""
    if path == "/" and method not in {"POST", "OPTIONS"}:
        return None
    return _WORK.get(path)


async def _serve(on: Companions, work: Work, scope: Scope, receive: Receive, send: Send) -> None:
    origin = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), None)
    if scope["method"] == "OPTIONS":
        await reply(send, Answer(204, None), origins.preflight(origin))
        return
    try:
        answer = await _answer(on, work, scope, receive, origin)
    except ClientGone:
        await refuse(scope, send)
        return
    except Unavailable503 as away:
        answer = Answer(away.status, away.body(), {"retry-after": "5"})
    except Exception as fault:  # noqa: BLE001 - every fault has an answer
        answer = answer_to(fault)
    await reply(send, answer, origins.cors(origin))


async def _answer(on: Companions, work: Work, scope: Scope, receive: Receive, origin: str | None) -> Answer:
    if scope["method"] != "POST":
        return track.WRONG_METHOD
    headers = scope["headers"]
    sent = track.read_headers(headers)
    document = await _document(on, receive, sent)
    if isinstance(document, Answer):
        return document
    peer = scope.get("client")
    return await work(on, Asked(document, sent, origin, on.addresses.of(peer and peer[0], headers)))


async def _document(on: Companions, receive: Receive, sent: Sent) -> Mapping[str, Any] | Answer:
    """The object a body holds, whatever its content type says: beacons say what they like."""
    with on.patience:
        body = await read_body(receive, track.MAX_BODY, sent.length)
    if body is None:
        return _TOO_LARGE
    if not body or body.isspace():
        return _NO_BODY
    try:
        document = orjson.loads(body)
    except ValueError:
        return _INVALID
    return document if isinstance(document, dict) else _INVALID


async def _batch(on: Companions, asked: Asked) -> Answer:
    return await on.batches.take(asked)


async def _container(on: Companions, asked: Asked) -> Answer:
    workspace = await public_workspace(on.batches.workspaces, asked.document)
    if workspace is None:
        return Answer(200, EMPTY)
    if not origins.is_allowed(asked.origin, workspace):
        return FOREIGN
    return Answer(200, await on.containers.of(workspace.id))


_WORK: Final[Mapping[str, Work]] = {"/": _batch, "/batch": _batch, "/container-scripts": _container}
