"""Records found by their names and by what they tell of: each store finds what the readable one does."""

from itertools import product

import pytest

from service_core.kernel.ids import new_id
from tests.fixtures.notes import Note


async def find_notes_by_name(api_client, text, limit=50):
    async with api_client.writes.transactions.read(api_client.caller.workspace.id) as unit:
        return [note.name for note in await unit.resources.search_by_name_prefix_first(Note, text, limit)]


async def find_notes_by_id(api_client, some_id, **matching):
    async with api_client.writes.transactions.read(api_client.caller.workspace.id) as unit:
        found = await unit.resources.list_all(Note, mentioning_id=some_id, field_filters=matching)
        return [note.name for note in found]


async def test_name_search_lists_prefix_matches_first_then_by_name(api_client, other_workspace):
    for name in ("Spring 2", "Late spring", "spring 10", "Summer", "Spring 1", "early SPRING"):
        await api_client.create(name)
    await other_workspace.create("Spring elsewhere")
    expected = ["Spring 1", "spring 10", "Spring 2", "early SPRING", "Late spring"]
    assert await find_notes_by_name(api_client, "SPRing") == expected
    assert [await find_notes_by_name(api_client, "spring", limit) for limit in (1, 4)] == [
        expected[:1],
        expected[:4],
    ]
    assert await find_notes_by_name(api_client, "autumn") == []


async def test_name_search_uses_current_names_of_existing_records(api_client):
    made = await api_client.create("Spring")
    await api_client.update(made.data["id"], name="Autumn")
    assert [await find_notes_by_name(api_client, text) for text in ("spring", "autumn")] == [[], ["Autumn"]]
    gone = await api_client.delete(made.data["id"])
    assert await find_notes_by_name(api_client, "autumn") == []
    await api_client.undo(gone.audit_id)
    assert await find_notes_by_name(api_client, "autumn") == ["Autumn"]


@pytest.mark.parametrize("text", ["50 %", "a_b", "\\", "'", "ümlaut", "STRASSE ß", "😀"])
async def test_name_search_treats_wildcards_literally(api_client, text):
    for name in (f"x {text}", "50 of", "axb", "other"):
        await api_client.create(name)
    assert await find_notes_by_name(api_client, text.upper() if text == "ümlaut" else text) == [f"x {text}"]
    assert await find_notes_by_name(api_client, text * 60_000) == []


async def test_name_search_agrees_across_stores_for_any_text(api_client):
    names = ["".join(signs) for length in (1, 2) for signs in product("aBüİ%\n", repeat=length)]
    for name in names:
        await api_client.create(name)
    for text in names:
        sought = text.lower()
        found = [name for name in names if sought in name.lower()]
        found.sort(key=lambda name: (not name.lower().startswith(sought), name.lower()))
        assert await find_notes_by_name(api_client, text) == found


async def test_records_are_found_by_an_id_anywhere_in_their_content(api_client, other_workspace):
    sought, other = new_id(), new_id()
    await api_client.create("1", text=str(sought))
    await api_client.create("2", text=str(other))
    await api_client.create("3", seen=str(sought), by=str(other))
    await api_client.create("4", text=f"about {sought}")
    await other_workspace.create("5", text=str(sought))
    assert await find_notes_by_id(api_client, sought) == ["3", "1"]
    assert await find_notes_by_id(api_client, sought, text=str(sought)) == ["1"]
    assert await find_notes_by_id(api_client, new_id()) == []
