"""Routes beside `/track` that browsers ask without a secret (contract 11)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from hosts.guard import App, Receive, Scope, Send, is_clear, refuse
from hosts.ingest.body import BODY_SECONDS, ClientGone, read_body
from hosts.ingest.faults import answer_to
from hosts.ingest.patience import Patience
from hosts.ingest.replying import reply
from service_core.access.workspaces import Workspaces
from service_core.changes.ports import Units
from service_core.intake import origins, track
from service_core.intake.accept import TEXTS, scalar
from service_core.intake.model import Reason
from service_core.intake.track import Answer
from service_core.kernel.errors import Unavailable503
from service_core.workspace.scripts.container import EMPTY, container

CONTAINER: Final = "/container-scripts"
_TOO_LARGE: Final = Answer(413, {"error": TEXTS[Reason.TOO_LARGE]})
_INVALID: Final = Answer(400, {"error": TEXTS[Reason.INVALID_JSON]})
_FOREIGN: Final = Answer(403, {"error": "Origin not allowed"})


@dataclass(frozen=True, slots=True)
class Companions:
    """What these routes stand on."""

    workspaces: Workspaces
    units: Units
    patience: Patience = field(default_factory=lambda: Patience(BODY_SECONDS))


def companion_app(stands_on: Companions) -> App:
    """The ASGI application; every other path is not found."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if not is_clear(scope):
            await refuse(scope, send)
        elif scope["path"] == CONTAINER:
            await _serve(stands_on, scope, receive, send)
        else:
            await reply(send, track.UNKNOWN_PATH, track.CORS)

    return application


async def _serve(on: Companions, scope: Scope, receive: Receive, send: Send) -> None:
    origin = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), None)
    if scope["method"] == "OPTIONS":
        await reply(send, Answer(204, None), origins.preflight(origin))
        return
    try:
        answer = await _answer(on, scope, receive, origin)
    except ClientGone:
        await refuse(scope, send)
        return
    except Unavailable503 as away:
        answer = Answer(away.status, away.body(), {"retry-after": "5"})
    except Exception as fault:  # noqa: BLE001 - every fault has an answer
        answer = answer_to(fault)
    await reply(send, answer, origins.cors(origin))


async def _answer(on: Companions, scope: Scope, receive: Receive, origin: str | None) -> Answer:
    if scope["method"] != "POST":
        return track.WRONG_METHOD
    with on.patience:
        body = await read_body(receive, track.MAX_BODY)
    if body is None:
        return _TOO_LARGE
    try:
        document = orjson.loads(body)
    except ValueError:
        return _INVALID
    if not isinstance(document, dict):
        return _INVALID
    return await _container(on, document, origin)


async def _container(on: Companions, document: Mapping[str, Any], origin: str | None) -> Answer:
    public_id = scalar(document.get("workspace_id")) or scalar(document.get("workspaceId"))
    workspace = await on.workspaces.find_public(public_id) if public_id else None
    if workspace is None or not workspace.active:
        return Answer(200, EMPTY)
    if not origins.is_allowed(origin, workspace):
        return _FOREIGN
    return Answer(200, await container(on.units, workspace.id))
