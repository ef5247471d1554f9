"""Writable resources come by one declaration: two of one type, or a kind that asks in vain, stop the start."""

from types import SimpleNamespace
from typing import ClassVar, Protocol

import pytest

from hosts.composition.bindings import Bindings, build_resource_types
from service_core import builtin
from service_core.changes.resource import Resource, ResourceType
from service_core.changes.resource_definition import ResourceDefinition
from service_core.extensions.hooks import hook
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import Scope, operation
from service_core.kernel.settings import Settings


class Note(Resource):
    resource_type: ClassVar[str] = "own_note"


NOTES = ResourceType(Note, Scope.WRITE_REPORTS)


@operation("GET /own-notes", tag="own")
async def list_notes() -> dict[str, int]:
    """List what was noted."""
    return {}


def plugin_with_resources(*resources):
    plugin = SimpleNamespace(resources=hook(lambda: resources))
    return collect_plugins_into_registry(
        [("builtin", builtin), ("notes", plugin)], discover_entry_points=False
    )


def test_resource_registers_its_type_and_endpoints():
    registry = plugin_with_resources(ResourceDefinition(NOTES, (list_notes,)))
    assert list_notes in registry.operations
    assert build_resource_types(registry.resources[-1:], Bindings({})) == (NOTES,)


async def test_dependencies_of_a_resource_type_are_bound_by_type():
    async def load_serializer(records, resources, *, settings: Settings):
        return lambda _: {"host": settings.links.domain}

    settings = Settings.model_validate({"links": {"domain": "go.example.com"}})
    note_type = ResourceType(Note, Scope.WRITE_LINKS, serializer=load_serializer)
    (bound,) = build_resource_types([ResourceDefinition(note_type)], Bindings({Settings: lambda: settings}))
    serialize = await bound.serializer(None, [])
    assert serialize({}) == {"host": "go.example.com"}


def test_unprovided_dependency_stops_the_start_and_names_the_function():
    class Weather(Protocol):
        def today(self): ...

    async def note_effects(records, prior, new, *, weather: Weather):
        return ()

    note_type = ResourceType(Note, Scope.WRITE_REPORTS, effects=note_effects)
    with pytest.raises(StartupError, match="note_effects asks for weather: Weather"):
        build_resource_types([ResourceDefinition(note_type)], Bindings({Settings: Settings}))


def test_duplicate_resource_type_stops_the_start():
    with pytest.raises(StartupError, match="'own_note'"):
        build_resource_types([ResourceDefinition(NOTES), ResourceDefinition(NOTES)], Bindings({}))


def test_duplicate_resource_route_stops_the_start():
    with pytest.raises(StartupError, match="GET /own-notes"):
        plugin_with_resources(
            ResourceDefinition(NOTES, (list_notes,)), ResourceDefinition(NOTES, (list_notes,))
        )
