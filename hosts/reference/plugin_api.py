"""The reference page of `service_core.plugin`, from the docstrings of the exported names."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from itertools import groupby, pairwise
from types import ModuleType
from typing import Any, Final

from pydantic import BaseModel

from hosts.reference.markdown import format_code, render_page, render_section, render_table
from hosts.reference.plugin_hooks import render_hooks_section
from service_core.extensions.plugin_info import API_VERSION

PLUGIN_MODULE: Final = "service_core.plugin"
_VARIADIC_PREFIXES: Final[Mapping[object, str]] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


@dataclass(frozen=True, slots=True)
class ExportedName:
    """A name that `service_core.plugin` exports.

    Attributes:
        package: package of the core that defines it, such as ``kernel``.
        name: the exported name.
        kind: protocol, class, exception, function, module or constant.
        signature: its parameters, or the methods of a protocol with theirs; empty for constants and modules.
        description: first paragraph of its docstring; empty if it has none of its own.
    """

    package: str
    name: str
    kind: str
    signature: str
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
                    signature=_signature_of_export(value),
                    description=_first_docstring_paragraph(statement.module, alias.name, value),
                )


def render_plugin_api_page() -> str:
    """Returns the page that lists every exported name by package."""
    sections = [
        render_section(
            format_code(f"service_core.{package}"),
            render_table(
                ("name", "kind", "parameters or methods", "meaning"),
                (
                    (
                        format_code(export.name),
                        export.kind,
                        export.signature and format_code(export.signature),
                        export.description,
                    )
                    for export in exports
                ),
            ),
        )
        for package, exports in groupby(exported_names_in_import_order(), key=lambda export: export.package)
    ]
    intro = (
        f"Version {API_VERSION} of the plugin API: the names that plugins import from `service_core.plugin`. They are stable; "
        "everything else in the core may change. A name joins in a minor version. A name that will leave, or change, is "
        "announced in the changelog one minor version before and leaves in a major version; a plugin declares the version "
        "it was made for with `PluginInfo.api_version`. The docstring of a protocol's method states what an "
        "implementation must do. A parameter with `=` is optional; those after `*` are keyword-only."
    )
    return render_page("Plugin API", intro, render_hooks_section(), *sections)


def _signature_of_export(exported: Any) -> str:
    kind = _kind_of_export(exported)
    if kind in {"module", "constant"} or (inspect.isclass(exported) and issubclass(exported, Enum)):
        return ""
    if kind == "protocol":
        methods = (
            (name, member)
            for name, member in vars(exported).items()
            if inspect.isfunction(member) and not name.startswith("_")
        )
        return ", ".join(f"{name}{_format_parameters(member)}" for name, member in methods)
    return _format_parameters(exported)


def _format_parameters(function: Any) -> str:
    """Returns the names of the parameters, without types and defaults; empty where Python does not know them."""
    if inspect.isclass(function) and issubclass(function, BaseModel):
        fields = (
            f"{name}{'' if field.is_required() else '='}" for name, field in function.model_fields.items()
        )
        return f"({', '.join(('*', *fields))})" if function.model_fields else "()"
    if inspect.isclass(function) and not any(
        inspect.isfunction(getattr(function, name)) for name in ("__init__", "__new__")
    ):
        return ""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ""
    parts: list[str] = []
    for parameter in parameters:
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        prefix = _VARIADIC_PREFIXES.get(parameter.kind, "")
        optional = "" if parameter.default is parameter.empty else "="
        parts.append(f"{prefix}{parameter.name}{optional}")
    return f"({', '.join(parts)})"


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
