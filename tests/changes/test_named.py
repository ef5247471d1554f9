"""Records found by their names and by what they tell of: each store finds what the readable one does."""

from itertools import product

import pytest

from service_core.kernel.ids import new_id
from tests.changes.conftest import Note


async def named(desk, text, limit=50):
    async with desk.writes.units.look(desk.who.workspace.id) as unit:
        return [note.name for note in await unit.resources.named(Note, text, limit)]


async def telling(desk, some_id, **matching):
    async with desk.writes.units.look(desk.who.workspace.id) as unit:
        found = await unit.resources.every(Note, telling=some_id, matching=matching)
        return [note.name for note in found]


async def test_names_that_start_with_the_text_come_first_then_the_order_of_the_names(desk, neighbour):
    for name in ("Spring 2", "Late spring", "spring 10", "Summer", "Spring 1", "early SPRING"):
        await desk.create(name)
    await neighbour.create("Spring elsewhere")
    expected = ["Spring 1", "spring 10", "Spring 2", "early SPRING", "Late spring"]
    assert await named(desk, "SPRing") == expected
    assert [await named(desk, "spring", limit) for limit in (1, 4)] == [expected[:1], expected[:4]]
    assert await named(desk, "autumn") == []


async def test_a_name_is_found_as_it_is_now_while_its_record_is_there(desk):
    made = await desk.create("Spring")
    await desk.update(made.data["id"], name="Autumn")
    assert [await named(desk, text) for text in ("spring", "autumn")] == [[], ["Autumn"]]
    gone = await desk.delete(made.data["id"])
    assert await named(desk, "autumn") == []
    await desk.undo(gone.audit_id)
    assert await named(desk, "autumn") == ["Autumn"]


@pytest.mark.parametrize("text", ["50 %", "a_b", "\\", "'", "ümlaut", "STRASSE ß", "😀"])
async def test_every_sign_of_a_text_stands_for_itself(desk, text):
    for name in (f"x {text}", "50 of", "axb", "other"):
        await desk.create(name)
    assert await named(desk, text.upper() if text == "ümlaut" else text) == [f"x {text}"]
    assert await named(desk, text * 60_000) == []


async def test_any_text_is_found_in_any_name_in_one_order_of_all_stores(desk):
    names = ["".join(signs) for length in (1, 2) for signs in product("aBüİ%\n", repeat=length)]
    for name in names:
        await desk.create(name)
    for text in names:
        sought = text.lower()
        found = [name for name in names if sought in name.lower()]
        found.sort(key=lambda name: (not name.lower().startswith(sought), name.lower()))
        assert await named(desk, text) == found


async def test_records_are_found_by_an_id_they_tell_of_wherever_it_stands(desk, neighbour):
    sought, other = new_id(), new_id()
    await desk.create("1", text=str(sought))
    await desk.create("2", text=str(other))
    await desk.create("3", seen=str(sought), by=str(other))
    await desk.create("4", text=f"about {sought}")
    await neighbour.create("5", text=str(sought))
    assert await telling(desk, sought) == ["3", "1"]
    assert await telling(desk, sought, text=str(sought)) == ["1"]
    assert await telling(desk, new_id()) == []
