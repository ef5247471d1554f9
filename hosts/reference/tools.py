"""The page of tools, from the table that names them and the operations behind."""

from collections.abc import Iterable

from hosts.mcp.tools import Tool, tools_of
from hosts.reference.markdown import code, page, table
from service_core.gateway.routes import PREFIX
from service_core.kernel.operations import Operation, Scope


def tools_page(operations: Iterable[Operation]) -> str:
    """One row per tool, in the order of `tools/list`."""
    rows = ((code(t.name), _route(t), _scope(t), _arguments(t)) for t in tools_of(operations))
    intro = (
        "What [the MCP server](../consumers/mcp.md) offers, in the order of `tools/list`. Arguments in bold are required; what they "
        "mean and what is answered stands with the [route](operations.md)."
    )
    return page("Tools", intro, table(("tool", "route", "scope", "arguments"), rows))


def _route(tool: Tool) -> str:
    return code(f"{tool.operation.method} /{PREFIX}{tool.operation.path}")


def _scope(tool: Tool) -> str:
    needed = tool.operation.scope
    return code(needed.value) if isinstance(needed, Scope) else "that of the write taken back"


def _arguments(tool: Tool) -> str:
    required = tool.arguments.get("required", ())
    names = tool.arguments["properties"]
    return ", ".join(f"**{code(name)}**" if name in required else code(name) for name in names)
