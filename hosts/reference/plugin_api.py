"""The reference page of `service_core.plugin`, from the docstrings of the exported names."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import groupby, pairwise
from types import ModuleType
from typing import Any, Final

from hosts.reference.markdown import format_code, render_page, render_section, render_table

PLUGIN_MODULE: Final = "service_core.plugin"


@dataclass(frozen=True, slots=True)
class ExportedName:
    """A name that `service_core.plugin` exports.

    Attributes:
        package: package of the core that defines it, such as ``kernel``.
        name: the exported name.
        kind: protocol, class, exception, function, module or constant.
        description: first paragraph of its docstring; empty if it has none of its own.
    """

    package: str
    name: str
    kind: str
    description: str


def exported_names_in_import_order() -> Iterator[ExportedName]:
    """Yields the names that `service_core.plugin` exports, in the order of its imports."""
    source = inspect.getsource(import_module(PLUGIN_MODULE))
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.ImportFrom) and statement.module is not None:
            for alias in statement.names:
                value = getattr(import_module(PLUGIN_MODULE), alias.asname or alias.name)
                yield ExportedName(
                    package=statement.module.split(".")[1],
                    name=alias.asname or alias.name,
                    kind=_kind_of_export(value),
                    description=_first_docstring_paragraph(statement.module, alias.name, value),
                )


def render_plugin_api_page() -> str:
    """Returns the page that lists every exported name by package."""
    sections = [
        render_section(
            format_code(f"service_core.{package}"),
            render_table(
                ("name", "kind", "meaning"),
                ((format_code(export.name), export.kind, export.description) for export in exports),
            ),
        )
        for package, exports in groupby(exported_names_in_import_order(), key=lambda export: export.package)
    ]
    intro = (
        "Names that plugins import from `service_core.plugin`. They are stable; everything else in the core may change. "
        "The docstring of a protocol's method states what an implementation must do."
    )
    return render_page("Plugin API", intro, *sections)


def _kind_of_export(exported: Any) -> str:
    if isinstance(exported, ModuleType):
        return "module"
    if inspect.isfunction(exported):
        return "function"
    if not inspect.isclass(exported):
        return "constant"
    if getattr(exported, "_is_protocol", False):
        return "protocol"
    return "exception" if issubclass(exported, BaseException) else "class"


def _first_docstring_paragraph(defining_module: str, name: str, exported: Any) -> str:
    if isinstance(exported, ModuleType) or inspect.isfunction(exported):
        text = exported.__doc__ or ""
    elif inspect.isclass(exported):
        own = exported.__dict__.get("__doc__") or ""
        text = "" if own.startswith(f"{name}(") else own  # dataclasses generate a signature
    else:
        text = _constant_docstrings(defining_module).get(name, "")
    return " ".join(inspect.cleandoc(text).split("\n\n", 1)[0].split())


@cache
def _constant_docstrings(module: str) -> dict[str, str]:
    """Returns the string literals that follow the assignments of a module, by the assigned name."""
    docstrings: dict[str, str] = {}
    body = ast.parse(inspect.getsource(import_module(module))).body
    for statement, following in pairwise(body):
        target = _assigned_name(statement)
        if target and isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            docstrings[target] = str(following.value.value)
    return docstrings


def _assigned_name(statement: ast.stmt) -> str | None:
    target: ast.expr | None = statement.target if isinstance(statement, ast.AnnAssign) else None
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) else None
