"""Generated programs of writes by several actors: rollback of one equals a replay of the program without it.

``TOUCHPOINT_ROLLBACK_PROGRAMS`` sets how many programs run; `python -m tests.changes.run_rollback_programs` runs 10,000
and prints figures.
"""

import os
from collections import Counter
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from service_core.changes.rollback_operations import RollbackBody, roll_back_actor
from service_core.kernel.errors import ApiError
from service_core.kernel.ids import new_id
from tests.fixtures.notes import NoteClient

PROGRAMS = int(os.environ.get("TOUCHPOINT_ROLLBACK_PROGRAMS", "200"))
FAULTY_ONCE = (3758,)
"""Seeds beyond the first ones whose programs once showed a fault."""

NAMES = ("a", "b", "c", "d", "e", "f")
TEXTS = (None, "x", "y", "z")
COLOURS = ("red", "blue")


@dataclass
class Step:
    """An applied change of a program, as a test without the product would note it."""

    entry_id: Any
    actor: int
    note_id: str
    prior: dict | None
    new: dict | None
    undone_step: "Step | None" = None


async def read_notes(client):
    return {
        note["id"]: {"name": note["name"], "text": note["text"], "tags": note["tags"]}
        for note in await client.notes()
    }


class Program:
    """Runs random writes of three actors and notes each applied one."""

    def __init__(self, random, client):
        self.random, self.client = random, client
        credential = client.caller.credential
        self.keys = [replace(credential, id=new_id(), name=f"Actor {number}") for number in range(3)]
        self.note_ids, self.steps, self.live = [], [], {}

    async def run(self, length):
        for _ in range(length):
            await self._run_one(self.random.randrange(3))
        return list(self.steps)

    async def _run_one(self, actor):
        random, caller = self.random, replace(self.client.caller, credential=self.keys[actor])
        client = NoteClient(self.client.writes, caller)
        kind = random.choice(("create", "update", "update", "update", "delete", "undo"))
        target = random.choice(self.note_ids) if self.note_ids else str(new_id())
        undone = random.choice(self.steps) if self.steps else None
        try:
            if kind == "create":
                envelope = await client.create(random.choice(NAMES), random.choice(TEXTS), **self._tags())
            elif kind == "delete":
                envelope = await client.delete(target)
            elif kind == "undo":
                envelope = await client.undo(undone.entry_id if undone else new_id())
            else:
                envelope = await client.update(target, **self._fields())
        except ApiError:
            return
        finally:
            self.client.caller = replace(self.client.caller, now=client.caller.now)
        if envelope.applied:
            await self._note_step(envelope, actor, undone if kind == "undo" else None)

    async def _note_step(self, envelope, actor, undone):
        after, note_id = await read_notes(self.client), str(envelope.diff.resource.id)
        step = Step(envelope.audit_id, actor, note_id, self.live.get(note_id), after.get(note_id), undone)
        self.steps.append(step)
        self.live = after
        if note_id not in self.note_ids:
            self.note_ids.append(note_id)

    def _fields(self):
        choices = {
            "name": self.random.choice(NAMES),
            "text": self.random.choice(TEXTS),
            "tags": self._tags(),
        }
        return {
            name: choices[name] for name in self.random.sample(sorted(choices), self.random.choice((1, 1, 2)))
        }

    def _tags(self):
        chosen = self.random.random()
        if chosen < 0.15 and self.note_ids:
            return {"of": self.random.choice(self.note_ids)}
        return {"colour": self.random.choice(COLOURS)} if chosen < 0.6 else {}


def is_undo_within(step, steps):
    """Returns whether a step takes another of these steps back; an undo of an earlier one is a plain write."""
    return step.undone_step is not None and any(step.undone_step is other for other in steps)


def replay_without(actor, start, steps):
    """Returns the notes that the steps of the others make, and those that needed a step of the actor to exist."""
    undone = {id(step.undone_step) for step in steps if step.undone_step and step.actor != actor}
    notes, dependent = {key: dict(note) for key, note in start.items()}, set()
    for step in steps:
        if step.actor == actor:
            continue
        if step.prior is not None and step.note_id not in notes:
            dependent.add(step.note_id)
        elif is_undo_within(step, steps) or id(step) in undone:
            continue
        elif step.new is None:
            notes.pop(step.note_id)
        else:
            before = step.prior or {}
            fields = {name: value for name, value in step.new.items() if before.get(name, ...) != value}
            notes[step.note_id] = {**notes.get(step.note_id, {}), **fields}
    return notes, dependent


def fields_last_written_by_others(actor, steps):
    """Returns (note, field) to the value of the last change that holds, where another actor made it."""
    undone = {id(step.undone_step) for step in steps if step.undone_step and step.actor != actor}
    written = {}
    for step in steps:
        if id(step) in undone or is_undo_within(step, steps):
            continue
        for name in ("name", "text", "tags"):
            before, after = (step.prior or {}).get(name, ...), (step.new or {}).get(name, ...)
            if before != after:
                written[step.note_id, name] = (step.actor, after)
    return {key: value for key, (writer, value) in written.items() if writer != actor}


async def check_program(seed, make_note_client):
    program = Program(Random(seed), await make_note_client())
    await program.run(6)
    start, before_start = dict(program.live), len(program.steps)
    program.client.later(hours=1)
    since = program.client.caller.now.isoformat()
    await program.run(18)
    steps, live = program.steps[before_start:], program.live
    actor = program.random.randrange(3)
    client = program.client
    client.later(hours=1)
    body = RollbackBody.model_validate(
        {"actor": {"key_id": str(program.keys[actor].id)}, "since": since, "dry_run": True}
    )
    shown = (await roll_back_actor.handler(body, caller=client.caller, executor=client.writes)).body
    assert await read_notes(client) == live, seed
    body = body.model_copy(update={"dry_run": False})
    answer = (await roll_back_actor.handler(body, caller=client.caller, executor=client.writes)).body
    after = await read_notes(client)
    assert [left.audit_id for left in shown.left_alone] == [left.audit_id for left in answer.left_alone]
    check_state(seed, actor, start, steps, live, after, answer)
    equal = check_notes_of_the_actor_alone(seed, actor, start, steps, after, answer)
    return Counter(
        {
            "writes": len(steps),
            "writes of the actor": sum(step.actor == actor for step in steps),
            "changes made by rollbacks": len(answer.changes),
            "writes left alone and named": len(answer.left_alone),
            "outside effects listed": len(answer.outside_effects),
            "notes of the actor alone that equal the start": equal,
        }
    )


def check_notes_of_the_actor_alone(seed, actor, start, steps, after, answer):
    """Checks that each note which the actor alone touched is as at the start; returns their number."""
    touched_by_others = {step.note_id for step in steps if step.actor != actor}
    own = {step.note_id for step in steps if step.actor == actor} - touched_by_others
    own -= {str(left.resource.id) for left in answer.left_alone}
    for note_id in own:
        assert after.get(note_id) == start.get(note_id), (seed, note_id)
    return len(own)


def changed_names(step):
    if step.prior is None or step.new is None:
        return {"name", "text", "tags"}
    return {name for name, value in step.new.items() if step.prior[name] != value}


def fields_left_alone(answer, steps):
    """Returns the fields of each note that left-alone changes of it wrote."""
    steps_by_id, fields = {step.entry_id: step for step in steps}, {}
    for left in answer.left_alone:
        step = steps_by_id[left.audit_id]
        fields.setdefault(step.note_id, set()).update(changed_names(step))
    return fields


def fields_overwritten_by_undos(steps, note_id):
    """Returns the fields where an undo also reset a change between, which had led back to the undone value."""
    own = [step for step in steps if step.note_id == note_id]
    fields = set()
    for undo in own:
        if is_undo_within(undo, own):
            first = next(position for position, step in enumerate(own) if step is undo.undone_step)
            between = own[first + 1 : own.index(undo)]
            fields |= set().union(*(changed_names(step) for step in between)) & changed_names(undo)
    return fields


def without(names, note):
    return None if note is None else {name: value for name, value in note.items() if name not in names}


def check_reasons(seed, actor, steps, answer):
    """Whatever is left alone as changed was changed by another actor later, or stands on what is left alone."""
    steps_by_id = {step.entry_id: step for step in steps}
    left_alone = [steps_by_id[left.audit_id] for left in answer.left_alone]
    for left, step in zip(answer.left_alone, left_alone, strict=True):
        later = [other for other in steps[steps.index(step) + 1 :] if other.note_id == step.note_id]
        overlapping = [other for other in later if changed_names(other) & changed_names(step)]
        assert left.reason != "changed_since" or any(
            other.actor != actor or other in left_alone for other in overlapping
        ), (seed, left)


def check_state(seed, actor, start, steps, live, after, answer):
    expected, dependent = replay_without(actor, start, steps)
    reasons = {(str(left.resource.id), left.reason) for left in answer.left_alone}
    kept_fields = fields_left_alone(answer, steps)
    for note_id in {*start, *live, *after, *expected}:
        if (note_id, "in_use") in reasons:
            assert any(note["tags"].get("of") == note_id for note in after.values()), seed
        elif (note_id, "slug_taken") not in reasons and note_id not in dependent:
            kept = kept_fields.get(note_id, set()) | fields_overwritten_by_undos(steps, note_id)
            assert without(kept, after.get(note_id)) == without(kept, expected.get(note_id)), (seed, note_id)
    for (note_id, name), value in fields_last_written_by_others(actor, steps).items():
        kept = kept_fields.get(note_id, set())
        is_overwritten = name in fields_overwritten_by_undos(steps, note_id) | kept
        if note_id in live and value is not ... and not is_overwritten:
            assert after.get(note_id, {}).get(name, ...) == value, (seed, note_id, name)
    check_reasons(seed, actor, steps, answer)
    own = [str(step.entry_id) for step in steps if step.actor == actor]
    assert {str(left.audit_id) for left in answer.left_alone} <= set(own), seed
    # Every change of a note pins it, a deletion does not: see `effects` of the fixture.
    pinned = sorted(str(step.entry_id) for step in steps if step.actor == actor and step.new is not None)
    assert sorted(str(effect.audit_id) for effect in answer.outside_effects) == pinned, seed


async def test_rollback_equals_a_replay_without_the_actor(make_note_client):
    for seed in (*range(PROGRAMS), *FAULTY_ONCE):
        await check_program(seed, make_note_client)
