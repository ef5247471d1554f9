"""Protocol revisions of MCP: which are spoken, and the checks of a request of the stateless revision.

A request belongs to the stateless revision (2026-07-28) if its ``_meta`` or its header ``MCP-Protocol-Version`` names
a revision without handshake. Every other request belongs to a revision with ``initialize``.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import orjson

from hosts.mcp.jsonrpc import INVALID_PARAMS, JsonRpcError, JsonRpcRequest

STATELESS_VERSION: Final = "2026-07-28"
HANDSHAKE_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Revisions that `initialize` negotiates, the newest first."""

PROTOCOL_VERSIONS: Final = (STATELESS_VERSION, *HANDSHAKE_VERSIONS)
"""All revisions, the newest first."""

HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022

HANDSHAKE_METHODS: Final = frozenset({"logging/setLevel", "resources/subscribe", "resources/unsubscribe"})
"""Methods that the stateless revision does not have any more."""

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"

VERSION_HEADER: Final = "mcp-protocol-version"
METHOD_HEADER: Final = "mcp-method"
NAME_HEADER: Final = "mcp-name"

_NAMED_BY: Final[Mapping[str, str]] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Method to the parameter that the header ``Mcp-Name`` repeats."""

_BASE64_PREFIX: Final = "=?base64?"
_BASE64_SUFFIX: Final = "?="


def is_stateless_request(call: JsonRpcRequest, headers: Mapping[str, str]) -> bool:
    """Returns whether a request belongs to the stateless revision, after checking its envelope.

    Args:
        call: the request.
        headers: HTTP headers by lower-case name.

    Raises:
        JsonRpcError: the revision is not spoken, required fields are missing, or headers contradict the body.
    """
    meta = call.params.get("_meta")
    version_header = headers.get(VERSION_HEADER)
    names_version = isinstance(meta, Mapping) and VERSION_KEY in meta
    if not names_version and (version_header is None or version_header in HANDSHAKE_VERSIONS):
        return False
    if not names_version and version_header != STATELESS_VERSION:
        raise unsupported_version_error(version_header, call.id)
    if not isinstance(meta, Mapping):
        raise _envelope_error("params._meta must be an object", call)
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]
    if missing:
        raise _envelope_error(f"params._meta needs {' and '.join(missing)}", call)
    _check_headers(call, headers, meta[VERSION_KEY])
    if meta[VERSION_KEY] != STATELESS_VERSION:
        raise unsupported_version_error(version_header, call.id)
    if not isinstance(meta[CAPABILITIES_KEY], Mapping):
        raise _envelope_error(f"{CAPABILITIES_KEY} must be an object", call)
    return True


def check_notification_version(headers: Mapping[str, str]) -> None:
    """Refuses a notification whose header names a revision that is not spoken.

    Raises:
        JsonRpcError: without an id.
    """
    version = headers.get(VERSION_HEADER)
    if version is not None and version not in PROTOCOL_VERSIONS:
        raise unsupported_version_error(version, None)


def unsupported_version_error(version: str | None, id_: str | int | None) -> JsonRpcError:
    """Returns the error that lists the revisions spoken here."""
    data = {"supported": list(PROTOCOL_VERSIONS), "requested": version or ""}
    return JsonRpcError(
        UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", id_, data=data, status=400
    )


def missing_capability_error(capability: str, id_: str | int) -> JsonRpcError:
    """Returns the error of a request that needs a capability which the client does not declare."""
    data: dict[str, Any] = {"requiredCapabilities": {capability: {}}}
    return JsonRpcError(
        MISSING_CAPABILITY, f"The client does not declare {capability}", id_, data=data, status=400
    )


def check_parameter_headers(
    call: JsonRpcRequest, headers: Mapping[str, str], input_schema: Mapping[str, Any]
) -> None:
    """Refuses a tool call whose ``Mcp-Param`` headers do not repeat the arguments that the schema annotates.

    Args:
        call: a tool call of the stateless revision.
        headers: HTTP headers by lower-case name.
        input_schema: of the tool; an annotated property has ``x-mcp-header``.

    Raises:
        JsonRpcError: a header is missing, differs or is not valid Base64.
    """
    arguments = call.params.get("arguments")
    for name, schema in input_schema.get("properties", {}).items():
        header = schema.get("x-mcp-header")
        value = arguments.get(name) if isinstance(arguments, Mapping) else None
        if header is None or value is None:
            continue
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        if _decode_header_if_base64(headers.get(f"mcp-param-{header}".lower())) != text:
            raise _mismatch_error(f"Mcp-Param-{header}", call)


def _check_headers(call: JsonRpcRequest, headers: Mapping[str, str], version: object) -> None:
    """Refuses a request whose headers do not repeat what its body says."""
    if headers.get(VERSION_HEADER) != version:
        raise _mismatch_error("MCP-Protocol-Version", call)
    if headers.get(METHOD_HEADER) != call.method:
        raise _mismatch_error("Mcp-Method", call)
    parameter = _NAMED_BY.get(call.method)
    named = call.params.get(parameter) if parameter else None
    if named is not None and _decode_header_if_base64(headers.get(NAME_HEADER)) != named:
        raise _mismatch_error("Mcp-Name", call)


def _decode_header_if_base64(value: str | None) -> str | None:
    """Returns the text of a header value; None for one in broken Base64."""
    if value is None or not (value.startswith(_BASE64_PREFIX) and value.endswith(_BASE64_SUFFIX)):
        return value
    payload = value[len(_BASE64_PREFIX) : -len(_BASE64_SUFFIX)]
    try:
        return base64.b64decode(payload, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _mismatch_error(header: str, call: JsonRpcRequest) -> JsonRpcError:
    message = f"The header {header} is missing or differs from the body"
    return JsonRpcError(HEADER_MISMATCH, message, call.id, status=400)


def _envelope_error(message: str, call: JsonRpcRequest) -> JsonRpcError:
    return JsonRpcError(INVALID_PARAMS, message, call.id, status=400)
