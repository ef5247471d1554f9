"""Records found by their names and by what they tell of: each store finds what the readable one does."""

from itertools import product

import pytest

from service_core.kernel.ids import new_id
from tests.fixtures.notes import Note


async def named(api_client, text, limit=50):
    async with api_client.writes.transactions.read(api_client.caller.workspace.id) as unit:
        return [note.name for note in await unit.resources.search_by_name(Note, text, limit)]


async def telling(api_client, some_id, **matching):
    async with api_client.writes.transactions.read(api_client.caller.workspace.id) as unit:
        found = await unit.resources.list_all(Note, mentioning_id=some_id, field_filters=matching)
        return [note.name for note in found]


async def test_names_that_start_with_the_text_come_first_then_the_order_of_the_names(
    api_client, other_workspace
):
    for name in ("Spring 2", "Late spring", "spring 10", "Summer", "Spring 1", "early SPRING"):
        await api_client.create(name)
    await other_workspace.create("Spring elsewhere")
    expected = ["Spring 1", "spring 10", "Spring 2", "early SPRING", "Late spring"]
    assert await named(api_client, "SPRing") == expected
    assert [await named(api_client, "spring", limit) for limit in (1, 4)] == [expected[:1], expected[:4]]
    assert await named(api_client, "autumn") == []


async def test_a_name_is_found_as_it_is_now_while_its_record_is_there(api_client):
    made = await api_client.create("Spring")
    await api_client.update(made.data["id"], name="Autumn")
    assert [await named(api_client, text) for text in ("spring", "autumn")] == [[], ["Autumn"]]
    gone = await api_client.delete(made.data["id"])
    assert await named(api_client, "autumn") == []
    await api_client.undo(gone.audit_id)
    assert await named(api_client, "autumn") == ["Autumn"]


@pytest.mark.parametrize("text", ["50 %", "a_b", "\\", "'", "ümlaut", "STRASSE ß", "😀"])
async def test_every_sign_of_a_text_stands_for_itself(api_client, text):
    for name in (f"x {text}", "50 of", "axb", "other"):
        await api_client.create(name)
    assert await named(api_client, text.upper() if text == "ümlaut" else text) == [f"x {text}"]
    assert await named(api_client, text * 60_000) == []


async def test_any_text_is_found_in_any_name_in_one_order_of_all_stores(api_client):
    names = ["".join(signs) for length in (1, 2) for signs in product("aBüİ%\n", repeat=length)]
    for name in names:
        await api_client.create(name)
    for text in names:
        sought = text.lower()
        found = [name for name in names if sought in name.lower()]
        found.sort(key=lambda name: (not name.lower().startswith(sought), name.lower()))
        assert await named(api_client, text) == found


async def test_records_are_found_by_an_id_they_tell_of_wherever_it_stands(api_client, other_workspace):
    sought, other = new_id(), new_id()
    await api_client.create("1", text=str(sought))
    await api_client.create("2", text=str(other))
    await api_client.create("3", seen=str(sought), by=str(other))
    await api_client.create("4", text=f"about {sought}")
    await other_workspace.create("5", text=str(sought))
    assert await telling(api_client, sought) == ["3", "1"]
    assert await telling(api_client, sought, text=str(sought)) == ["1"]
    assert await telling(api_client, new_id()) == []
