"""The reference page of MCP tools."""

from collections.abc import Iterable

from hosts.mcp.tools import Tool, build_tools_of_v1_key_operations
from hosts.reference.markdown import format_code, render_page, render_table
from service_core.api.routes import V1_PREFIX
from service_core.kernel.operations import Operation, Scope


def render_tools_page(operations: Iterable[Operation]) -> str:
    """Renders one row per tool, in the order of `tools/list`."""
    rows = (
        (format_code(t.name), _format_route(t), _format_scope(t), _format_arguments(t))
        for t in build_tools_of_v1_key_operations(operations)
    )
    intro = (
        "What [the MCP server](../consumers/mcp.md) offers, in the order of `tools/list`. Arguments in bold are required; what they "
        "mean and what is answered stands with the [route](operations.md)."
    )
    return render_page("Tools", intro, render_table(("tool", "route", "scope", "arguments"), rows))


def _format_route(tool: Tool) -> str:
    return format_code(f"{tool.operation.method} /{V1_PREFIX}{tool.operation.path}")


def _format_scope(tool: Tool) -> str:
    needed = tool.operation.scope
    return format_code(needed.value) if isinstance(needed, Scope) else "that of the write taken back"


def _format_arguments(tool: Tool) -> str:
    required = tool.arguments_schema.get("required", ())
    names = tool.arguments_schema["properties"]
    return ", ".join(f"**{format_code(name)}**" if name in required else format_code(name) for name in names)
