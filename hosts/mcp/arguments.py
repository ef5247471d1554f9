"""Converts the arguments of a tool call to an API request; arguments that do not fit the schema are refused."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson

from hosts.mcp.tools import Tool
from service_core.access.models import AuthContext, RequestInterface
from service_core.api.http_messages import ApiRequest
from service_core.api.routes import V1_PREFIX

_JSON_TYPES: Final[Mapping[type, tuple[str, ...]]] = {
    str: ("string",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    list: ("array",),
    dict: ("object",),
}
"""Type of a decoded value -> what a schema may call it."""


class BadArguments(Exception):
    """Arguments that do not fit the schema; the message says which and why."""


def build_api_request_of_tool_call(
    tool: Tool, arguments: Mapping[str, Any], identity: AuthContext, client_ip: str | None = None
) -> ApiRequest:
    """Returns the API request of a tool call.

    Args:
        tool: what is called.
        arguments: parameters of path and query, or fields of the body, by name; null counts as left out.
        identity: whose token was sent.
        client: address of the client, when it is known.

    Raises:
        BadArguments: one is missing, unknown or of another kind. What the values mean is for the route.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    _reject_unknown_missing_or_mistyped_arguments(tool, given)
    op = tool.operation
    idempotency_key = given.pop("idempotency_key", None)
    path = re.sub(r"\{(\w+)\}", lambda match: quote(given.pop(match[1]), safe=""), op.path)
    return ApiRequest(
        op.method,
        f"/{V1_PREFIX}{path}",
        "" if op.body else urlencode(list(_query_pairs(given))),
        {"idempotency-key": idempotency_key} if idempotency_key else {},
        orjson.dumps(given) if op.body else b"",
        client_ip,
        RequestInterface.MCP,
        identity,
    )


def _reject_unknown_missing_or_mistyped_arguments(tool: Tool, arguments: Mapping[str, Any]) -> None:
    schema = tool.arguments_schema
    for name in arguments:
        if name not in tool.accepted_argument_names:
            known = ", ".join(schema["properties"]) or "none"
            raise BadArguments(f"{tool.name} has no argument {name!r:.80}; it takes: {known}")
    for name in schema.get("required", ()):
        if name not in arguments:
            raise BadArguments(f"{tool.name} needs the argument {name}")
    for name, value in arguments.items():
        wanted = _allowed_json_types(schema["properties"].get(name, {}))
        if "array" in wanted and tool.operation.body is None:
            wanted |= {"string"}  # in a query string a list may be written with commas
        if wanted and not wanted.intersection(_JSON_TYPES[type(value)]):
            raise BadArguments(f"{name} must be of type {' or '.join(sorted(wanted))}")


def _allowed_json_types(schema: Mapping[str, Any]) -> frozenset[str]:
    """Returns the JSON types a schema allows; empty for any."""
    choices = [_allowed_json_types(choice) for choice in schema.get("anyOf", ())]
    if choices:
        return frozenset().union(*choices) if all(choices) else frozenset()
    return frozenset({schema["type"]}) if "type" in schema else frozenset()


def _query_pairs(arguments: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Yields the pairs of a query string; a list repeats its name."""
    for name, value in arguments.items():
        for element in value if isinstance(value, list) else [value]:
            yield name, element if isinstance(element, str) else orjson.dumps(element).decode()
