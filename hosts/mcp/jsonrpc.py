"""JSON-RPC 2.0: one message in, one message out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602

JsonRpcId = str | int | None


class JsonRpcError(Exception):
    """An error of the protocol.

    Attributes:
        id: of the request, when it could be read.
        data: further facts for programs; None for none.
        status: HTTP status; None for 400 without an id and 200 with one.
    """

    def __init__(
        self,
        code: int,
        message: str,
        id_: JsonRpcId = None,
        *,
        data: Mapping[str, Any] | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id_
        self.data = data
        self.status = status


@dataclass(frozen=True, slots=True)
class JsonRpcRequest:
    """A request with an id."""

    id: str | int
    method: str
    params: Mapping[str, Any]


def parse_request_or_none_for_notification(body: bytes) -> JsonRpcRequest | None:
    """Parses the request in a body; None for a notification or a response, which get no answer.

    Raises:
        JsonRpcError: no JSON, no message, a batch, or parameters that are no object.
    """
    try:
        message = orjson.loads(body)
    except ValueError:
        raise JsonRpcError(PARSE_ERROR, "The body must be JSON") from None
    if isinstance(message, list):
        raise JsonRpcError(INVALID_REQUEST, "Batches are not taken: send one message at a time")
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise JsonRpcError(INVALID_REQUEST, "The body must be a JSON-RPC 2.0 message")
    method = message.get("method")
    if "id" not in message if isinstance(method, str) else "result" in message or "error" in message:
        return None
    id_ = message.get("id")
    if not isinstance(method, str) or not isinstance(id_, str | int) or isinstance(id_, bool):
        raise JsonRpcError(
            INVALID_REQUEST, "A request has a method, and an id that is a string or an integer"
        )
    params = message.get("params", {})
    if not isinstance(params, dict):
        raise JsonRpcError(INVALID_PARAMS, "params must be an object", id_)
    return JsonRpcRequest(id_, method, params)


def render_result(id_: JsonRpcId, result: Any) -> bytes:
    """Renders the result of a request."""
    return orjson.dumps({"jsonrpc": "2.0", "id": id_, "result": result})


def render_error(fault: JsonRpcError) -> bytes:
    """Renders an error."""
    error: dict[str, Any] = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        error["data"] = fault.data
    return orjson.dumps({"jsonrpc": "2.0", "id": fault.id, "error": error})
