"""A dry run changes no row of any kind, and shows what the write then does."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings

from service_core.changes.models import GENERATED_FIELDS
from service_core.kernel.errors import ApiError
from service_core.kernel.ids import new_id
from tests.changes.test_undo import STEPS
from tests.fixtures.notes import create_note_client, open_workspace_store


def read_everything(folder):
    """Each row of each table."""
    with closing(sqlite3.connect(folder / "workspace.db")) as database:
        return list(database.iterdump())


def without_generated_values(diff):
    """A diff without what only an applied write gives a record."""
    blank = dict.fromkeys(GENERATED_FIELDS)
    states = {"prior_state": diff.prior_state, "new_state": diff.new_state}
    shown = {
        name: state and {k: v for k, v in state.items() if k not in blank} for name, state in states.items()
    }
    return diff.model_dump() | shown | {"resource": (diff.resource.type, diff.resource.label)}


async def execute_step(api_client, step, made, done, *, dry_run):
    """What comes of one step: an envelope, or the text of a refusal.

    Args:
        made: ids of the notes of earlier steps.
        done: ids of their audit entries.
    """
    kind, which, text = step
    try:
        if kind == "create":
            return await api_client.create(which, text, dry_run=dry_run)
        if kind == "undo":
            return await api_client.undo(done[which % len(done)] if done else new_id(), dry_run=dry_run)
        note = made[which % len(made)] if made else new_id()
        if kind == "update":
            return await api_client.update(note, dry_run=dry_run, text=text)
        return await api_client.delete(note, dry_run=dry_run)
    except ApiError as refused:
        return repr(refused)


@pytest.fixture
async def directory(tmp_path):
    async with open_workspace_store("sqlite:///workspace.db", tmp_path) as store:
        yield store


@settings(max_examples=15)
@given(steps=STEPS)
async def test_dry_run_changes_nothing_and_predicts_the_applied_change(directory, tmp_path, steps):
    api_client = await create_note_client(directory.transactions, directory)
    made, done = [], []
    for number, step in enumerate(steps):
        sender = api_client.once(f"{number}", step)
        before = read_everything(tmp_path)
        planned = await execute_step(sender, step, made, done, dry_run=True)
        assert read_everything(tmp_path) == before
        applied = await execute_step(sender, step, made, done, dry_run=False)
        if isinstance(applied, str):
            assert planned == applied
            continue
        assert (planned.dry_run, planned.applied, planned.audit_id) == (True, False, None)
        assert without_generated_values(planned.diff) == without_generated_values(applied.diff)
        if applied.applied:
            assert read_everything(tmp_path) != before
            done.append(applied.audit_id)
        if step[0] == "create":
            made.append(applied.data["id"])
