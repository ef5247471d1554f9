"""``/mcp?tools=compact``: a dozen tools within 2,000 tokens, each of which calls the tool of an operation.

An assistant pays for the list of tools in every conversation. So these have few words, name the usual arguments only,
and take all arguments of the tool they call; ``catalog`` gives the schema of any tool when it is needed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from hosts.mcp.compact_tool_list import COMPACT_TOOLS, EVENT_ROWS, PEOPLE_ROWS, SAVED_KINDS, CompactTool
from hosts.mcp.tool_sets import Entry, ToolCall, find_read, find_tool_name_of_route
from hosts.mcp.tools import Tool
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import Scope
from service_core.kernel.row_selection import RowSelection

Arguments = Mapping[str, Any]

_DEFAULT_ARGUMENTS: Final[Mapping[str, Arguments]] = {
    "list_events": {"limit": EVENT_ROWS},
    "list_users": {"limit": PEOPLE_ROWS},
}
"""Tool of an operation -> arguments of a call of its compact tool that leaves them out."""


class CompactToolSet:
    """The tools of the compact list.

    Args:
        tools: of the operations, in their order.
    """

    has_structured_results = False

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def list_entries(self, scopes: frozenset[Scope]) -> tuple[list[Entry], list[Entry]]:
        """Returns the entries; ``change`` only to a token that may change something."""
        return [
            tool.entry(name)
            for name, tool in COMPACT_TOOLS.items()
            if tool.is_read or any(_is_write_visible_to(scopes, inner) for inner in self._tools.values())
        ], []

    def resolve_call(self, name: object, arguments: Arguments, scopes: frozenset[Scope]) -> ToolCall | None:
        """Returns the call of the tool behind a compact tool."""
        compact = COMPACT_TOOLS.get(name) if isinstance(name, str) else None
        if compact is None or not isinstance(name, str):
            return None
        sent = {key: value for key, value in arguments.items() if value is not None}
        _reject_unknown_or_missing_arguments(name, compact, sent)
        if compact.operation_tool is not None:
            return self._call_with_defaults(compact.operation_tool, sent)
        if name == "people":
            return self._call_people(sent)
        if name == "saved_work":
            return self._call_saved_work(sent)
        if name == "catalog":
            return self._call_catalog(sent, scopes)
        return self._call_chosen_tool(sent, "tool" if name == "change" else "name")

    def resolve_read(self, name: str, arguments: Arguments) -> ToolCall | None:
        """Returns the call of a read."""
        return find_read(self._tools, name, arguments)

    def describe_operation(self, method: str, path: str) -> str | None:
        """Returns the compact tool that calls the tool of a route."""
        name = find_tool_name_of_route(self._tools, method, path)
        if name is None:
            return None
        own = next((key for key, tool in COMPACT_TOOLS.items() if tool.operation_tool == name), None)
        if own is not None:
            return own
        return f"call_tool with name {name}" if self._tools[name].is_read else f"change with tool {name}"

    def _call_with_defaults(self, tool_name: str, arguments: Arguments) -> ToolCall:
        """Returns the call with the defaults of the compact list; rows leave out null fields."""
        tool = self._tools[tool_name]
        query = tool.operation.query
        has_rows = query is not None and issubclass(query, RowSelection)
        defaults = {**_DEFAULT_ARGUMENTS.get(tool_name, {}), **({"omit_nulls": True} if has_rows else {})}
        return ToolCall(tool, {**defaults, **arguments})

    def _call_people(self, arguments: Arguments) -> ToolCall:
        """Returns the call for one person if an id is sent, otherwise for the list."""
        rest = {key: value for key, value in arguments.items() if key != "id"}
        if "id" in arguments:
            return self._call_with_defaults("get_user", rest | {"userId": arguments["id"]})
        return self._call_with_defaults("list_users", rest)

    def _call_saved_work(self, arguments: Arguments) -> ToolCall:
        """Returns the call that lists a kind, gets one of it or runs it."""
        kind, id_, run = (arguments.get(key) for key in ("kind", "id", "run"))
        rest = {key: value for key, value in arguments.items() if key not in ("kind", "id", "run")}
        singular = SAVED_KINDS.get(kind) if isinstance(kind, str) else None
        if singular is None:
            raise _unknown_value_error("kind", kind, SAVED_KINDS)
        if id_ is None:
            if run:
                raise _missing_error("saved_work", "id", "Send the id of what to run.")
            return self._call_with_defaults(f"list_{kind}", rest)
        tool = self._tools.get(f"{'run' if run else 'get'}_{singular}")
        if tool is None:
            verb, prefix = ("run", "run_") if run else ("got by its id", "get_")
            kinds = [key for key, name in SAVED_KINDS.items() if f"{prefix}{name}" in self._tools]
            raise BadRequest(
                f"kind {kind} cannot be {verb}",
                "invalid_parameter",
                field="run" if run else "id",
                hint="List it without id." if not run else "Leave out run.",
                extra={"allowed": kinds},
            )
        return ToolCall(tool, rest | {_path_parameter(tool): id_})

    def _call_chosen_tool(self, arguments: Arguments, field: str) -> ToolCall:
        """Returns the call of the tool named by ``tool``, a write, or by ``name``, a read."""
        is_change = field == "tool"
        chosen = self._tools.get(str(arguments[field]))
        if chosen is None or chosen.is_read is is_change:
            allowed = [name for name, tool in self._tools.items() if tool.is_read is not is_change]
            raise _unknown_value_error(field, arguments[field], allowed)
        inner = arguments.get("arguments", {})
        if not isinstance(inner, Mapping):
            raise BadRequest(
                "arguments must be of type object",
                "invalid_parameter",
                field="arguments",
                hint=f"catalog with names [{chosen.name}] shows what it takes.",
            )
        if not is_change:
            return ToolCall(chosen, inner)
        return ToolCall(chosen, _arguments_with_dry_run(chosen, inner, arguments.get("dry_run", True)))

    def _call_catalog(self, arguments: Arguments, scopes: frozenset[Scope]) -> ToolCall:
        """Returns the call of the catalog of metrics, whose answer is shortened or narrowed to names."""
        visible = {name: tool for name, tool in self._tools.items() if tool.is_visible_to(scopes)}
        names = arguments.get("names")
        if names is not None and not (isinstance(names, list) and all(isinstance(n, str) for n in names)):
            raise BadRequest(
                "names must be of type array",
                "invalid_parameter",
                field="names",
                hint="Send a list of names.",
            )

        def convert(body: bytes) -> bytes:
            catalog = orjson.loads(body)
            return orjson.dumps(
                _define_names(catalog, visible, names) if names else _list_names(catalog, visible)
            )

        return ToolCall(self._tools["list_metrics"], {}, convert)


def _list_names(catalog: Mapping[str, Any], tools: Mapping[str, Tool]) -> dict[str, Any]:
    """Returns the ids of metrics and dimensions, and the names of tools by what they do."""
    return {
        "metrics": [metric["id"] for metric in catalog["metrics"]],
        "dimensions": [dimension["id"] for dimension in catalog["dimensions"]],
        "read_tools": [name for name, tool in tools.items() if tool.is_read],
        "write_tools": [name for name, tool in tools.items() if not tool.is_read],
        "hint": "Call catalog again with names for definitions and argument schemas.",
    }


def _define_names(
    catalog: Mapping[str, Any], tools: Mapping[str, Tool], names: Iterable[str]
) -> dict[str, Any]:
    """Returns the definitions of names; those that nothing has are listed as unknown."""
    wanted = set(names)
    aliases = {
        name: compact.operation_tool
        for name, compact in COMPACT_TOOLS.items()
        if compact.operation_tool is not None
    }
    shown = wanted | {aliases[name] for name in wanted & aliases.keys()}
    found: dict[str, Any] = {
        "metrics": [metric for metric in catalog["metrics"] if metric["id"] in wanted],
        "dimensions": [dimension for dimension in catalog["dimensions"] if dimension["id"] in wanted],
        "tools": [
            {
                "name": name,
                "description": tool.tools_list_entry["description"],
                "inputSchema": tool.snake_case_arguments_schema,
            }
            for name, tool in tools.items()
            if name in shown
        ],
    }
    known = {entry["id"] for kind in ("metrics", "dimensions") for entry in found[kind]}
    unknown = wanted - known - tools.keys() - aliases.keys()
    return {kind: entries for kind, entries in found.items() if entries} | (
        {"unknown": sorted(unknown)} if unknown else {}
    )


def _arguments_with_dry_run(tool: Tool, inner: Arguments, dry_run: Any) -> dict[str, Any]:
    """Returns the arguments of a write with the outer ``dry_run``, which alone decides.

    Raises:
        BadRequest: ``dry_run`` is no boolean, or true for a tool without a preview.
    """
    if not isinstance(dry_run, bool):
        raise BadRequest(
            "dry_run must be of type boolean",
            "invalid_parameter",
            field="dry_run",
            hint="Send dry_run as boolean.",
        )
    if "dry_run" in tool.arguments_schema["properties"]:
        return {**inner, "dry_run": dry_run}
    if dry_run:
        raise BadRequest(
            f"{tool.name} has no preview",
            "invalid_parameter",
            field="dry_run",
            hint="Let the person agree, then send dry_run: false.",
        )
    return dict(inner)


def _is_write_visible_to(scopes: frozenset[Scope], tool: Tool) -> bool:
    return not tool.is_read and tool.is_visible_to(scopes)


def _path_parameter(tool: Tool) -> str:
    return tool.operation.path.partition("{")[2].partition("}")[0]


def _reject_unknown_or_missing_arguments(name: str, tool: CompactTool, arguments: Arguments) -> None:
    unknown = next((key for key in arguments if key not in tool.properties), None)
    if unknown is not None and not tool.is_open:
        raise BadRequest(
            f"{name} has no argument {unknown!r:.80}",
            "unknown_field",
            field=unknown[:80],
            hint="Leave it out, or use one of the allowed names.",
            extra={"allowed": list(tool.properties)},
        )
    missing = next((key for key in tool.required if key not in arguments), None)
    if missing is not None:
        raise _missing_error(name, missing, f"Call {name} again with {', '.join(tool.required)}.")


def _missing_error(name: str, field: str, hint: str) -> BadRequest:
    allowed = list(COMPACT_TOOLS[name].properties)
    return BadRequest(
        f"{name} needs the argument {field}",
        "missing_field",
        field=field,
        hint=hint,
        extra={"allowed": allowed},
    )


def _unknown_value_error(field: str, value: object, allowed: Iterable[str]) -> BadRequest:
    return BadRequest(
        f"{field} cannot be {value!r:.80}",
        "invalid_parameter",
        field=field,
        hint="Use one of the allowed names.",
        extra={"allowed": list(allowed)},
    )
