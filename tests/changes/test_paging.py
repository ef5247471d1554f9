"""Lists by page: in every store, in the order of the whole list, whatever happens meanwhile."""

from service_core.changes.pagination import ListQuery, paginate_records
from tests.fixtures.notes import Note


class NoteListQuery(ListQuery):
    """A list of notes."""


async def read_page(api_client, limit=2, cursor=None, **how):
    query = NoteListQuery(limit=limit, cursor=cursor)
    async with api_client.writes.transactions.read(api_client.caller.workspace.id) as unit:
        found, following = await paginate_records(unit.resources, Note, query, api_client.caller, **how)
    return [note.name for note in found], following


async def read_all_pages(api_client, limit=2, **how):
    names, following = await read_page(api_client, limit, **how)
    while following:
        some, following = await read_page(api_client, limit, following, **how)
        names += some
    return names


async def read_whole_list(api_client):
    return [note["name"] for note in await api_client.notes()]


async def test_pages_equal_the_whole_list_with_equal_timestamps(api_client, other_workspace):
    await other_workspace.create("Theirs")
    for number in range(7):
        await api_client.create(f"{number}")
        if number in (2, 3, 4):
            api_client.later(seconds=-1)  # the next one is made in the same instant
    assert len({note["created_at"] for note in await api_client.notes()}) == 4
    expected = await read_whole_list(api_client)
    assert len(expected) == 7
    for limit in (1, 2, 3, 7, 8):
        assert await read_all_pages(api_client, limit) == expected


async def test_page_contains_matching_records_up_to_the_limit(api_client):
    for number in range(6):
        await api_client.create(f"{number}", text="odd" if number % 2 else "even")
    expected = await read_whole_list(api_client)
    odd = [name for name in expected if int(name) % 2]
    assert await read_all_pages(api_client, field_filters={"text": "odd"}) == odd
    assert await read_all_pages(api_client, field_filters={"text": "neither"}) == []
    assert await read_all_pages(api_client, field_filters={"text": "odd", "name": "3"}) == ["3"]
    async with api_client.writes.transactions.read(api_client.caller.workspace.id) as unit:
        assert [
            note.name for note in await unit.resources.list_all(Note, field_filters={"text": "odd"})
        ] == odd
        assert await unit.resources.count(Note, field_filters={"text": "odd"}) == len(odd)
        assert await unit.resources.count(Note, field_filters={"text": "neither"}) == 0
    large = [name for name in odd if int(name) > 1]
    assert (
        await read_all_pages(
            api_client, 1, field_filters={"text": "odd"}, predicate=lambda note: int(note.name) > 1
        )
        == large
    )


async def test_concurrent_writes_neither_shift_nor_repeat_pages(api_client):
    made = {name: (await api_client.create(name)).data["id"] for name in ("1", "2", "3", "4", "5")}
    expected = await read_whole_list(api_client)
    first, following = await read_page(api_client)
    await api_client.delete(made[first[0]])
    await api_client.delete(made[first[1]])
    second, following = await read_page(api_client, cursor=following)
    third, following = await read_page(api_client, cursor=following)
    assert first + second + third == expected
    assert following is None
