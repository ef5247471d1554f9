"""Routing: matches method and path to an operation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from service_core.api.bound_operation import BoundOperation
from service_core.kernel.operations import RoutePrefix

V1_PREFIX: Final = "v1"

_Segments = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """The result of matching a path.

    Attributes:
        prefix: ``/v1`` or the root.
        bound_operation: the operation; None for an unknown path or another method.
        path_values: decoded path parameters.
        allowed_methods: methods of an existing path; empty for an unknown one.
    """

    prefix: RoutePrefix
    bound_operation: BoundOperation | None = None
    path_values: Mapping[str, str] = field(default_factory=dict)
    allowed_methods: tuple[str, ...] = ()


class Routes:
    """Finds operations by path. Segments are compared after decoding: ``%6f`` equals ``o``, ``%2F`` is not a separator."""

    def __init__(self, operations: Iterable[BoundOperation]) -> None:
        self._plain: dict[_Segments, dict[str, BoundOperation]] = {}
        templates: dict[_Segments, dict[str, BoundOperation]] = {}
        for bound in operations:
            segments = _template_segments(bound)
            table = templates if any(_parameter_name(segment) for segment in segments) else self._plain
            table.setdefault(segments, {})[bound.operation.method] = bound
        self._templates = sorted(templates.items(), key=lambda entry: _template_sort_key(entry[0]))

    def match_route_head_as_get(self, method: str, path: str) -> RouteMatch:
        """Returns the match of a method and path. ``GET`` answers ``HEAD``. A trailing slash makes a different path."""
        segments = tuple(unquote(segment) for segment in path.removeprefix("/").split("/"))
        surface = RoutePrefix.V1 if segments[0] == V1_PREFIX else RoutePrefix.ROOT
        methods, values = self._match_fixed_paths_before_templates(segments)
        bound = methods.get("GET" if method == "HEAD" else method)
        return RouteMatch(surface, bound, values, _allowed_methods(methods))

    def _match_fixed_paths_before_templates(
        self, segments: _Segments
    ) -> tuple[Mapping[str, BoundOperation], Mapping[str, str]]:
        plain = self._plain.get(segments)
        if plain is not None:
            return plain, {}
        for template, methods in self._templates:
            values = _path_values_or_none_if_different(template, segments)
            if values is not None:
                return methods, values
        return {}, {}


def _template_segments(bound_operation: BoundOperation) -> _Segments:
    path = tuple(bound_operation.operation.path.removeprefix("/").split("/"))
    return (V1_PREFIX, *path) if bound_operation.operation.prefix is RoutePrefix.V1 else path


def _parameter_name(segment: str) -> str | None:
    """Returns the name of a template segment that is a parameter, or None."""
    return segment[1:-1] if segment.startswith("{") and segment.endswith("}") else None


def _template_sort_key(template: _Segments) -> list[bool]:
    """Sorts templates so that earlier fixed segments come first."""
    return [_parameter_name(segment) is not None for segment in template]


def _path_values_or_none_if_different(template: _Segments, segments: _Segments) -> dict[str, str] | None:
    if len(template) != len(segments):
        return None
    values: dict[str, str] = {}
    for expected, segment in zip(template, segments, strict=True):
        name = _parameter_name(expected)
        if name is None and expected != segment:
            return None
        if name is not None:
            if not segment:
                return None
            values[name] = segment
    return values


def _allowed_methods(methods: Mapping[str, BoundOperation]) -> tuple[str, ...]:
    if not methods:
        return ()
    return (*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS")
