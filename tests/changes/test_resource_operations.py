"""The endpoints that a resource declares: what each needs, and which limit it counts against."""

import pytest
from pydantic import BaseModel, ConfigDict, Field

from service_core.changes.pagination import ListQuery
from service_core.changes.resource_definition import Listing, resource
from service_core.kernel.operations import RateLimitClass, Scope
from service_core.kernel.schemas import BodyModel
from tests.fixtures.notes import NOTE_TYPE, Note


class NewNote(BodyModel):
    """A note to create."""

    name: str = Field(description="Its name.")


async def create_note(body: NewNote, write) -> Note:
    """Make a note."""
    raise NotImplementedError


async def update_note(note: Note, body: NewNote, write) -> Note:
    """Rename a note."""
    raise NotImplementedError


@pytest.fixture(scope="module")
def notes():
    return resource(
        NOTE_TYPE,
        "/notes/{noteId}",
        listing=Listing("Notes, newest first.", query=ListQuery),
        get="One note.",
        create=create_note,
        update=update_note,
        delete="Remove a note.",
    )


def test_resource_has_one_endpoint_for_each_declared_action(notes):
    assert {each.id: (each.method, each.path) for each in notes.operations} == {
        "list_notes": ("GET", "/notes"),
        "get_note": ("GET", "/notes/{noteId}"),
        "create_note": ("POST", "/notes"),
        "update_note": ("PATCH", "/notes/{noteId}"),
        "delete_note": ("DELETE", "/notes/{noteId}"),
    }


def test_every_write_needs_the_scope_of_the_resource_and_counts_as_a_mutation(notes):
    for each in notes.operations:
        is_write = each.method != "GET"
        assert each.scope is (Scope.WRITE_REPORTS if is_write else Scope.READ), each.id
        assert (each.rate_limit is RateLimitClass.MUTATION) is is_write, each.id


class NoteAnswer(BaseModel):
    """A note as it is shown: its name under another field, and no tags."""

    model_config = ConfigDict(extra="forbid")

    heading: str = Field(alias="name")
    text: str | None


async def test_record_is_answered_with_the_fields_of_its_answer_model(api_client):
    shown = resource(NOTE_TYPE, "/notes/{noteId}", get="One note.", answer=NoteAnswer)
    created = await api_client.create("Plan", "buy milk", color="red")
    get_note = shown.operation("get_note")
    path = get_note.path_model(noteId=created.data["id"])
    note = await get_note.handler(path, caller=api_client.caller, changes=api_client.writes)
    assert note == NoteAnswer(name="Plan", text="buy milk")
