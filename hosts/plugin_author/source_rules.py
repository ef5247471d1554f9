"""Rules for the source of a plugin: what it imports, and what its author should have declared or avoided."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ALLOWED_IMPORT: Final = "service_core.plugin"
_OWN_PACKAGES: Final = ("service_core", "plugins", "hosts")
_HOST_IN_URL: Final = re.compile(r"https?://([A-Za-z0-9.-]+\.[A-Za-z]{2,})")
_BLOCKING_CALLS: Final = frozenset(
    {
        "time.sleep",
        "open",
        "urlopen",
        "urllib.request.urlopen",
        "socket.create_connection",
        "subprocess.run",
        "subprocess.check_output",
        "os.system",
        "requests.get",
        "requests.post",
        "requests.request",
        "httpx.get",
        "httpx.post",
        "sqlite3.connect",
    }
)
"""Calls that stop the event loop when an async function makes them."""

_DANGEROUS_CALLS: Final[Mapping[str, str]] = {
    "eval": "runs text as code",
    "exec": "runs text as code",
    "pickle.loads": "runs code that is in data",
    "pickle.load": "runs code that is in data",
    "os.system": "starts a program",
    "os.popen": "starts a program",
    "subprocess.run": "starts a program",
    "subprocess.Popen": "starts a program",
    "subprocess.check_output": "starts a program",
    "os.getenv": "reads the environment of the service, which holds its secrets",
    "os.environ.get": "reads the environment of the service, which holds its secrets",
}
_SECRET_NAMES: Final = frozenset({"secrets"})


@dataclass(frozen=True)
class Finding:
    """Something in the source that breaks a rule.

    Attributes:
        file: path relative to the plugin.
        line: line in it.
        message: what it is.
    """

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.message}"


def find_forbidden_imports(file: str, tree: ast.Module) -> Iterator[Finding]:
    """Yields each import of a module of Touchpoint other than `service_core.plugin`."""
    for node in ast.walk(tree):
        for name in _imported_names(node):
            if name.partition(".")[0] in _OWN_PACKAGES and name != ALLOWED_IMPORT:
                yield Finding(file, _line(node), f"imports {name}; only {ALLOWED_IMPORT} is stable")


def find_undeclared_hosts(file: str, tree: ast.Module, declared_hosts: Collection[str]) -> Iterator[Finding]:
    """Yields each host in a URL of the source that the plugin does not declare, outside of links for people."""
    links = {id(part) for node in _calls_of(tree, "ConnectionDeclaration") for part in ast.walk(node)}
    links |= {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "homepage"
    }
    links |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in links:
            for host in _HOST_IN_URL.findall(node.value):
                if host not in declared_hosts:
                    yield Finding(
                        file, node.lineno, f"names the host {host}, which plugin_info does not declare"
                    )


def find_blocking_calls(file: str, tree: ast.Module) -> Iterator[Finding]:
    """Yields each call in an async function that stops the event loop."""
    for function in ast.walk(tree):
        if isinstance(function, ast.AsyncFunctionDef):
            for call in _calls_in_body(function):
                if _call_name(call) in _BLOCKING_CALLS:
                    yield Finding(
                        file, call.lineno, f"{_call_name(call)} blocks the event loop in {function.name}"
                    )


def find_dangerous_calls(file: str, tree: ast.Module) -> Iterator[Finding]:
    """Yields each call that runs code or programs, or reads secrets of the service."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := _call_name(node)) in _DANGEROUS_CALLS:
            yield Finding(file, node.lineno, f"{name} {_DANGEROUS_CALLS[name]}")
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            yield Finding(file, node.lineno, f"os.environ {_DANGEROUS_CALLS['os.getenv']}")


def find_undeclared_secrets(
    file: str, tree: ast.Module, declared_names: Collection[str]
) -> Iterator[Finding]:
    """Yields each credential that the source reads by a name that no connection declares."""
    for node in ast.walk(tree):
        name = _secret_name(node)
        if name is not None and name not in declared_names:
            yield Finding(file, _line(node), f"reads the credential {name!r}, which no connection declares")


def parse_sources(folder: Path) -> dict[str, ast.Module]:
    """Returns path -> syntax tree of each Python file of a plugin, without its tests."""
    files = [folder] if folder.is_file() else sorted(folder.rglob("*.py"))
    root = folder.parent if folder.is_file() else folder
    names = {file: file.relative_to(root) for file in files}
    return {
        str(name): ast.parse(file.read_text(encoding="utf-8"))
        for file, name in names.items()
        if not _is_test(name)
    }


def _is_test(path: Path) -> bool:
    return "tests" in path.parts[:-1] or path.name.startswith("test_") or path.name == "conftest.py"


def _imported_names(node: ast.AST) -> list[str]:
    """Returns the modules that an import names, without those of the plugin itself."""
    if isinstance(node, ast.ImportFrom):
        return [] if node.level else [node.module or ""]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def _calls_of(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _call_name(node).rpartition(".")[2] == name:
            yield node


def _calls_in_body(function: ast.AsyncFunctionDef) -> Iterator[ast.Call]:
    """Yields the calls of a function, without those of functions inside it."""
    remaining: list[ast.AST] = list(function.body)
    while remaining:
        node = remaining.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call):
            yield node
        remaining += ast.iter_child_nodes(node)


def _call_name(call: ast.Call) -> str:
    return ast.unparse(call.func) if isinstance(call.func, ast.Name | ast.Attribute) else ""


def _secret_name(node: ast.AST) -> str | None:
    """Returns the name in ``secrets["name"]`` or ``secrets.get("name")``; None for any other node."""
    match node:
        case ast.Subscript(value=owner, slice=ast.Constant(value=str(name))):
            pass
        case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[ast.Constant(value=str(name)), *_]):
            pass
        case _:
            return None
    return name if ast.unparse(owner).rpartition(".")[2] in _SECRET_NAMES else None


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
