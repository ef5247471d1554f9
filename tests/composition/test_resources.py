"""Writable resources come by one declaration: two of one type, or a kind that asks in vain, stop the start."""

from types import SimpleNamespace
from typing import ClassVar, Protocol

import pytest

from hosts.composition.binding import kinds_of
from service_core import builtin
from service_core.changes.resource import Kind, Resource, Writable
from service_core.extension.hooks import hook
from service_core.extension.registry import load
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import Scope, operation
from service_core.kernel.settings import Settings


class Note(Resource):
    resource_type: ClassVar[str] = "own_note"


NOTES = Kind(Note, Scope.WRITE_REPORTS)


@operation("GET /own-notes", tag="own")
async def list_notes() -> dict[str, int]:
    """List what was noted."""
    return {}


def bringing(*resources):
    plugin = SimpleNamespace(resources=hook(lambda: resources))
    return load([("builtin", builtin), ("notes", plugin)], discover=False)


def test_a_resource_brings_its_kind_and_its_endpoints():
    registry = bringing(Writable(NOTES, (list_notes,)))
    assert list_notes in registry.operations
    assert kinds_of(registry.resources[-1:], {}) == (NOTES,)


def test_a_kind_gets_what_it_asks_for_by_type():
    def kind(*, settings: Settings) -> Kind:
        return Kind(Note, Scope.WRITE_LINKS, shown=lambda _: {"host": settings.links.domain})

    settings = Settings.model_validate({"links": {"domain": "go.example.com"}})
    (made,) = kinds_of([Writable(kind)], {Settings: settings})
    assert made.shown({}) == {"host": "go.example.com"}


def test_a_type_nobody_provides_stops_the_start_with_the_kinds_name():
    class Weather(Protocol):
        def today(self): ...

    def note_kind(*, weather: Weather) -> Kind:
        return Kind(Note, weather.today())

    with pytest.raises(StartupError, match="note_kind asks for weather: Weather"):
        kinds_of([Writable(note_kind)], {Settings: Settings()})


def test_two_kinds_of_one_type_stop_the_start():
    with pytest.raises(StartupError, match="'own_note'"):
        kinds_of([Writable(NOTES), Writable(NOTES)], {})


def test_two_resources_of_one_route_stop_the_start():
    with pytest.raises(StartupError, match="GET /own-notes"):
        bringing(Writable(NOTES, (list_notes,)), Writable(NOTES, (list_notes,)))
