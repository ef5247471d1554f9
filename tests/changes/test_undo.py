"""Undo: what it puts back, and every refusal."""

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service_core.kernel.errors import ApiError, Conflict, Forbidden, NotFound
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Scope


def note_content(note):
    return {name: value for name, value in note.items() if name != "updated_at"}


async def error_code_of(awaited):
    with pytest.raises(Conflict) as refused:
        await awaited
    return refused.value.code


async def test_undo_of_an_update_restores_the_previous_state(api_client):
    made = await api_client.create("Plan", "draft", colour="red")
    changed = await api_client.update(made.data["id"], text="final", tags={})
    shown = await api_client.undo(changed.audit_id, dry_run=True)
    undone = await api_client.undo(changed.audit_id)
    assert note_content(undone.data) == note_content(made.data)
    assert (undone.diff.action, undone.diff.new_state) == ("undo", changed.diff.prior_state)
    assert shown.diff == undone.diff


async def test_undo_of_a_delete_restores_the_same_id(api_client):
    made = await api_client.create("Plan", "draft", colour="red")
    gone = await api_client.delete(made.data["id"])
    undone = await api_client.undo(gone.audit_id)
    assert (
        [note_content(note) for note in await api_client.notes()]
        == [note_content(made.data)]
        == [note_content(undone.data)]
    )
    assert undone.diff.prior_state is None


async def test_undo_writes_an_audit_entry_and_marks_the_undone_one(api_client):
    made = await api_client.create("Plan")
    gone = await api_client.delete(made.data["id"])
    undone = await api_client.undo(gone.audit_id)
    async with api_client.writes.transactions.read(api_client.caller.workspace.id) as unit:
        taken_back, own = await unit.audit.get(gone.audit_id), await unit.audit.get(undone.audit_id)
    assert (taken_back.undone_by, taken_back.undoable) == (undone.audit_id, False)
    assert taken_back.undone_at == own.created_at
    assert (own.undo_of, own.action, own.undoable) == (gone.audit_id, "undo", False)


async def test_create_cannot_be_undone(api_client):
    made = await api_client.create()
    assert await error_code_of(api_client.undo(made.audit_id)) == "undo_create_unsupported"


async def test_audit_entry_can_be_undone_once(api_client):
    made = await api_client.create("Plan", "draft")
    changed = await api_client.update(made.data["id"], text="final")
    await api_client.undo(changed.audit_id)
    assert await error_code_of(api_client.undo(changed.audit_id)) == "already_undone"


async def test_undo_cannot_be_undone(api_client):
    made = await api_client.create()
    undone = await api_client.undo((await api_client.delete(made.data["id"])).audit_id)
    assert await error_code_of(api_client.undo(undone.audit_id)) == "not_undoable"


async def test_undo_is_refused_when_the_field_changed_since(api_client):
    made = await api_client.create("Plan", "draft")
    changed = await api_client.update(made.data["id"], text="final")
    await api_client.update(made.data["id"], text="newer")
    assert await error_code_of(api_client.undo(changed.audit_id)) == "resource_changed"


async def test_undo_keeps_later_changes_of_other_fields(api_client):
    made = await api_client.create("Plan", "draft")
    changed = await api_client.update(made.data["id"], text="final")
    await api_client.update(made.data["id"], tags={"colour": "red"})
    undone = await api_client.undo(changed.audit_id)
    assert (undone.data["text"], undone.data["tags"]) == ("draft", {"colour": "red"})


async def test_undo_of_an_update_is_refused_after_deletion(api_client):
    made = await api_client.create("Plan", "draft")
    changed = await api_client.update(made.data["id"], text="final")
    await api_client.delete(made.data["id"])
    assert await error_code_of(api_client.undo(changed.audit_id)) == "resource_changed"


async def test_undo_of_a_delete_is_refused_when_the_name_is_taken(api_client):
    made = await api_client.create("Plan")
    gone = await api_client.delete(made.data["id"])
    await api_client.create("Plan")
    assert await error_code_of(api_client.undo(gone.audit_id, dry_run=True)) == "slug_taken"
    assert await error_code_of(api_client.undo(gone.audit_id)) == "slug_taken"


async def test_undo_needs_the_scope_of_the_undone_write(api_client):
    made = await api_client.create()
    gone = await api_client.delete(made.data["id"])
    key = replace(api_client.caller.credential, scopes=frozenset(Scope) - {Scope.WRITE_REPORTS})
    api_client.caller = replace(api_client.caller, credential=key)
    with pytest.raises(Forbidden) as refused:
        await api_client.undo(gone.audit_id)
    assert refused.value.extra == {"required_scope": "service:write:reports"}
    with pytest.raises(NotFound):
        await api_client.undo(new_id())


async def test_one_of_20_concurrent_undos_succeeds(api_client):
    made = await api_client.create("Plan", "draft")
    changed = await api_client.update(made.data["id"], text="final")
    found = await asyncio.gather(
        *(api_client.undo(changed.audit_id) for _ in range(20)), return_exceptions=True
    )
    refused = [one.code for one in found if isinstance(one, ApiError)]
    assert refused == ["already_undone"] * 19
    assert [note["text"] for note in await api_client.notes()] == ["draft"]


NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from([None, "x", "y"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), NAMES, TEXTS),
        st.tuples(st.just("update"), st.integers(0, 5), TEXTS),
        st.tuples(st.just("delete"), st.integers(0, 5), st.none()),
        st.tuples(st.just("undo"), st.integers(0, 9), st.none()),
    ),
    max_size=25,
)


@settings(max_examples=60)
@given(steps=STEPS)
async def test_undo_restores_exactly_the_previous_state(make_note_client, steps):
    """The model is a plain dictionary of texts, and for each entry what stood before and after it."""
    api_client = await make_note_client()
    live, made, done = {}, [], []
    for step, which, text in steps:
        try:
            if step == "create":
                envelope = await api_client.create(which, text)
                key, before, after = envelope.data["id"], None, (which, text)
                made.append(key)
            elif step == "undo":
                entry, key, after, before = done[which % len(done)] if done else (new_id(), None, None, None)
                envelope = await api_client.undo(entry)
                assert before == live.get(key)
            else:
                key = made[which % len(made)] if made else str(new_id())
                before = live.get(key)
                after = (before[0], text) if step == "update" and before else None
                call = api_client.update(key, text=text) if step == "update" else api_client.delete(key)
                envelope = await call
        except ApiError:
            continue
        if envelope.applied:
            done.append((envelope.audit_id, key, before, after))
            live = {**live, key: after} if after else {k: v for k, v in live.items() if k != key}
        assert {note["id"]: (note["name"], note["text"]) for note in await api_client.notes()} == live
        assert all(UUID(key) for key in live)
