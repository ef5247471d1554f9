"""The tools that an address of the MCP server offers: all of them, or only reads."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from hosts.mcp.tools import Tool
from service_core.kernel.operations import Scope

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the tool of an operation takes it.

    Attributes:
        tool: the tool of the operation.
        arguments: by name.
        convert_answer: returns the body of the result for the body of the answer; None for the same.
    """

    tool: Tool
    arguments: Mapping[str, Any]
    convert_answer: Callable[[bytes], bytes] | None = None


class ToolSet(Protocol):
    """The tools of an address.

    Attributes:
        has_structured_results: whether a result is text and ``structuredContent``; otherwise text only.
    """

    has_structured_results: bool

    def list_entries(self, scopes: frozenset[Scope]) -> tuple[list[Entry], list[Entry]]:
        """Returns the entries that a token with these scopes sees: those of the first page, and those that follow."""

    def resolve_call(
        self, name: object, arguments: Mapping[str, Any], scopes: frozenset[Scope]
    ) -> ToolCall | None:
        """Returns the call of an operation's tool, or None for an unknown name.

        Raises:
            BadRequest: the arguments do not choose a tool.
        """

    def resolve_read(self, name: str, arguments: Mapping[str, Any]) -> ToolCall | None:
        """Returns the call of the tool of a read operation, or None if no read has the name."""

    def describe_operation(self, method: str, path: str) -> str | None:
        """Returns how a hint names the tool of a route, or None if no tool has it."""


class FullToolSet:
    """One tool for each operation.

    Args:
        tools: in their order.
    """

    has_structured_results = True

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def list_entries(self, scopes: frozenset[Scope]) -> tuple[list[Entry], list[Entry]]:
        """Returns the entries of both pages."""
        visible = [tool for tool in self._tools.values() if tool.is_visible_to(scopes)]
        return (
            [tool.tools_list_entry for tool in visible if not tool.is_late],
            [tool.tools_list_entry for tool in visible if tool.is_late],
        )

    def resolve_call(
        self,
        name: object,
        arguments: Mapping[str, Any],
        scopes: frozenset[Scope],  # noqa: ARG002 - a missing scope is refused with a challenge
    ) -> ToolCall | None:
        """Returns the call with the arguments as sent."""
        tool = self._tools.get(name) if isinstance(name, str) else None
        return ToolCall(tool, arguments) if tool else None

    def resolve_read(self, name: str, arguments: Mapping[str, Any]) -> ToolCall | None:
        """Returns the call of a read."""
        return find_read(self._tools, name, arguments)

    def describe_operation(self, method: str, path: str) -> str | None:
        """Returns the name of the tool."""
        return find_tool_name_of_route(self._tools, method, path)


def find_read(tools: Mapping[str, Tool], name: str, arguments: Mapping[str, Any]) -> ToolCall | None:
    """Returns the call of the tool with this name, or None if there is none or it is no read."""
    tool = tools.get(name)
    return ToolCall(tool, arguments) if tool and tool.is_read else None


def find_tool_name_of_route(tools: Mapping[str, Tool], method: str, path: str) -> str | None:
    """Returns the name of the tool of a route, or None."""
    route = method, path
    return next(
        (name for name, tool in tools.items() if (tool.operation.method, tool.operation.path) == route), None
    )
