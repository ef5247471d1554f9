"""The door of revenue providers as a raw ASGI application: bytes in, `providers.receive` decides, an answer out."""

import re
from typing import Final

from hosts.guard import App, Receive, Scope, Send, is_clear, refuse
from hosts.ingest.body import BODY_SECONDS, ClientGone, read_body
from hosts.ingest.faults import answer_to
from hosts.ingest.patience import Patience
from hosts.ingest.replying import reply
from service_core.commerce.providers.receive import MAX_BODY, Webhooks
from service_core.intake.track import CORS, UNKNOWN_PATH, Answer

PLACE: Final = "/webhooks/{provider}/{workspace_public_id}"
_PATH: Final = re.compile(r"/webhooks/([^/]+)/([^/]+)")
_WRONG_METHOD: Final = Answer(405, {"error": "Method not allowed"}, {"allow": "POST"})


def is_webhook(path: str) -> bool:
    """Whether a path is one of a provider and a workspace."""
    return _PATH.fullmatch(path) is not None


def webhook_app(webhooks: Webhooks, others: App) -> App:
    """The ASGI application.

    Args:
        webhooks: takes the messages.
        others: answers every other path.
    """
    patience = Patience(BODY_SECONDS)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        named = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if named is None:
            await others(scope, receive, send)
            return
        if not is_clear(scope):
            await refuse(scope, send)
            return
        try:
            answer = await _answer(webhooks, patience, (named[1], named[2]), scope, receive)
        except ClientGone:
            await refuse(scope, send)
            return
        except Exception as fault:  # noqa: BLE001 - every fault has an answer
            answer = answer_to(fault)
        await reply(send, answer, CORS)

    return application


async def _answer(
    webhooks: Webhooks, patience: Patience, named: tuple[str, str], scope: Scope, receive: Receive
) -> Answer:
    provider, workspace = named
    if scope["method"] != "POST":
        return _WRONG_METHOD
    if provider not in webhooks.providers:
        return UNKNOWN_PATH
    with patience:
        body = await read_body(receive, MAX_BODY)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return await webhooks.take(provider, workspace, headers, body)
