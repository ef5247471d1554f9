"""Webhooks of revenue providers as an ASGI application; `commerce.providers.webhooks` decides."""

import re
from typing import Final

from hosts.asgi import App, Receive, Scope, Send
from hosts.ingest.body import (
    BODY_TIMEOUT_SECONDS,
    ClientGone,
    UnknownEncoding,
    inflate_body,
    read_body_or_none_if_too_long,
)
from hosts.ingest.error_answers import answer_timeout_or_log_server_error
from hosts.ingest.read_timeout import ReadTimeout
from hosts.ingest.responses import send_uncached_answer
from hosts.request_smuggling import is_unambiguous_request, send_malformed_request
from service_core.commerce.providers.webhooks import MAX_WEBHOOK_BYTES, WebhookHandler
from service_core.ingestion.track import ALLOW_ANY_ORIGIN, IngestResponse

ROUTE_TEMPLATE: Final = "/webhooks/{provider}/{workspace_public_id}"
_PATH: Final = re.compile(r"/webhooks/([^/]+)/([^/]+)")
_WRONG_METHOD: Final = IngestResponse(405, {"error": "Method not allowed"}, {"allow": "POST"})


def is_webhook(path: str) -> bool:
    """Returns whether a path is that of a webhook."""
    return _PATH.fullmatch(path) is not None


def create_webhook_app(webhooks: WebhookHandler, fallback_app: App) -> App:
    """Returns the ASGI application.

    Args:
        webhooks: takes the messages.
        fallback_app: answers every other path.
    """
    read_timeout = ReadTimeout(BODY_TIMEOUT_SECONDS)

    async def serve_webhooks_or_fall_back(scope: Scope, receive: Receive, send: Send) -> None:
        named = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if named is None:
            await fallback_app(scope, receive, send)
            return
        if not is_unambiguous_request(scope):
            await send_malformed_request(scope, send)
            return
        try:
            answer = await _check_and_handle_webhook(
                webhooks, read_timeout, (named[1], named[2]), scope, receive
            )
        except ClientGone:
            await send_malformed_request(scope, send)
            return
        except Exception as fault:  # noqa: BLE001 - every fault has an answer
            answer = answer_timeout_or_log_server_error(fault)
        await send_uncached_answer(send, answer, ALLOW_ANY_ORIGIN)

    return serve_webhooks_or_fall_back


async def _check_and_handle_webhook(
    webhooks: WebhookHandler,
    read_timeout: ReadTimeout,
    provider_and_workspace: tuple[str, str],
    scope: Scope,
    receive: Receive,
) -> IngestResponse:
    provider, workspace = provider_and_workspace
    if scope["method"] != "POST":
        return _WRONG_METHOD
    with read_timeout:
        body = await read_body_or_none_if_too_long(receive, MAX_WEBHOOK_BYTES)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    encoding = headers.get("content-encoding", "").strip().lower()
    try:
        body = inflate_body(body, encoding, MAX_WEBHOOK_BYTES)
    except UnknownEncoding:
        return await webhooks.count_unsupported_encoding_and_answer(provider, workspace)
    return await webhooks.handle(provider, workspace, headers, body)
