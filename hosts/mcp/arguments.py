"""Converts the arguments of a tool call to an API request; arguments that do not fit the schema are refused."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson

from hosts.mcp.range_arguments import (
    DATE_ARGUMENTS,
    RANGE_ARGUMENT,
    convert_range_arguments,
    takes_range,
)
from hosts.mcp.tools import Tool
from service_core.access.models import AuthContext, RequestInterface
from service_core.api.http_messages import ApiRequest
from service_core.api.routes import V1_PREFIX
from service_core.kernel.errors import BadRequest

_JSON_TYPES: Final[Mapping[type, tuple[str, ...]]] = {
    str: ("string",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    list: ("array",),
    dict: ("object",),
}
"""Type of a decoded value -> what a schema may call it."""


def _argument_error(message: str, code: str, name: str, hint: str, allowed: Iterable[str] = ()) -> BadRequest:
    """Returns the error of an argument that does not fit the schema, with what a model needs to correct it."""
    extra = {"allowed": list(allowed)} if allowed else {}
    return BadRequest(message, code, field=name, hint=hint, extra=extra)


def build_api_request_of_tool_call(
    tool: Tool,
    arguments: Mapping[str, Any],
    identity: AuthContext,
    client_ip: str | None = None,
    *,
    now: datetime,
    first_event_time: datetime | None = None,
) -> ApiRequest:
    """Returns the API request of a tool call.

    Args:
        tool: what is called.
        arguments: parameters of path and query, or fields of the body, by name; null counts as left out. Parameters of
            the path may be in snake_case.
        identity: whose token was sent.
        client_ip: address of the client, when it is known.
        now: time of the request.
        first_event_time: time of the first event, for the preset ``all_time``; None without events.

    Raises:
        BadRequest: one is missing, unknown or of another kind. What the values mean is for the route.
    """
    path_parameters = tool.path_parameter_of_snake_name
    given = {path_parameters.get(name, name): value for name, value in arguments.items() if value is not None}
    _reject_unknown_missing_or_mistyped_arguments(tool, given)
    op = tool.operation
    if takes_range(tool.arguments_schema["properties"]):
        given = convert_range_arguments(
            op.id,
            tool.operation_parameter_names,
            given,
            zone=identity.workspace.zone,
            now=now,
            first_event_time=first_event_time,
        )
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
    known, required = list(schema["properties"]), list(schema.get("required", ()))
    for name in arguments:
        if name not in tool.accepted_argument_names:
            near = get_close_matches(name, known, 1)
            hint = f"Did you mean {near[0]}?" if near else "Leave it out, or use one of the allowed names."
            message = f"{tool.name} has no argument {name!r:.80}; it takes: {', '.join(known) or 'none'}"
            raise _argument_error(message, "unknown_field", name[:80], hint, known)
    if tool.requires_range and RANGE_ARGUMENT not in arguments:
        required = [*DATE_ARGUMENTS, *required]
    for name in required:
        if name not in arguments:
            either = f", or with {RANGE_ARGUMENT} instead of the dates" if name in DATE_ARGUMENTS else ""
            hint = f"Call {tool.name} again with {', '.join(required)}{either}."
            message = f"{tool.name} needs the argument {name}"
            raise _argument_error(message, "missing_field", name, hint, known)
    for name, value in arguments.items():
        wanted = _allowed_json_types(schema["properties"].get(name, {}))
        if "array" in wanted and tool.operation.body is None:
            wanted |= {"string"}  # in a query string a list may be written with commas
        if wanted and not wanted.intersection(_JSON_TYPES[type(value)]):
            kinds = " or ".join(sorted(wanted))
            raise _argument_error(
                f"{name} must be of type {kinds}", "invalid_parameter", name, f"Send {name} as {kinds}."
            )


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
