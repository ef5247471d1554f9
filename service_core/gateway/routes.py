"""From method and path to an operation: a dictionary for plain paths, a short list for templates."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from service_core.gateway.bound import Bound
from service_core.kernel.operations import Surface

PREFIX: Final = "v1"

_Segments = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What stands at a path.

    Attributes:
        surface: ``/v1`` or the bare root.
        bound: the operation; None for an unknown path or another method.
        values: path parameters, decoded.
        allow: methods of a path that exists; empty for an unknown one.
    """

    surface: Surface
    bound: Bound | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    allow: tuple[str, ...] = ()


class Routes:
    """Finds operations by path. Segments are compared decoded, so ``%6f`` is ``o`` and ``%2F`` no slash."""

    def __init__(self, operations: Iterable[Bound]) -> None:
        self._plain: dict[_Segments, dict[str, Bound]] = {}
        templates: dict[_Segments, dict[str, Bound]] = {}
        for bound in operations:
            segments = _template(bound)
            table = templates if any(_name(segment) for segment in segments) else self._plain
            table.setdefault(segments, {})[bound.operation.method] = bound
        self._templates = sorted(templates.items(), key=lambda entry: _openness(entry[0]))

    def find(self, method: str, path: str) -> Found:
        """What stands at ``path``; ``HEAD`` is answered by ``GET``. A trailing slash makes another path."""
        segments = tuple(unquote(segment) for segment in path.removeprefix("/").split("/"))
        surface = Surface.V1 if segments[0] == PREFIX else Surface.ROOT
        methods, values = self._methods(segments)
        bound = methods.get("GET" if method == "HEAD" else method)
        return Found(surface, bound, values, _allow(methods))

    def _methods(self, segments: _Segments) -> tuple[Mapping[str, Bound], Mapping[str, str]]:
        plain = self._plain.get(segments)
        if plain is not None:
            return plain, {}
        for template, methods in self._templates:
            values = _match(template, segments)
            if values is not None:
                return methods, values
        return {}, {}


def _template(bound: Bound) -> _Segments:
    path = tuple(bound.operation.path.removeprefix("/").split("/"))
    return (PREFIX, *path) if bound.operation.surface is Surface.V1 else path


def _name(segment: str) -> str | None:
    """The parameter a segment of a template stands for."""
    return segment[1:-1] if segment.startswith("{") and segment.endswith("}") else None


def _openness(template: _Segments) -> list[bool]:
    """Sorts the template with the earlier fixed segment first."""
    return [_name(segment) is not None for segment in template]


def _match(template: _Segments, segments: _Segments) -> dict[str, str] | None:
    if len(template) != len(segments):
        return None
    values: dict[str, str] = {}
    for expected, segment in zip(template, segments, strict=True):
        name = _name(expected)
        if name is None and expected != segment:
            return None
        if name is not None:
            if not segment:
                return None
            values[name] = segment
    return values


def _allow(methods: Mapping[str, Bound]) -> tuple[str, ...]:
    if not methods:
        return ()
    return (*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS")
