"""Lists by page: in every store, in the order of the whole list, whatever happens meanwhile."""

from service_core.changes.pagination import ListQuery, paginate_records
from tests.fixtures.notes import Note


class Listed(ListQuery):
    """A list of notes."""


async def page(api_client, limit=2, cursor=None, **how):
    query = Listed(limit=limit, cursor=cursor)
    async with api_client.writes.transactions.read(api_client.caller.workspace.id) as unit:
        found, following = await paginate_records(unit.resources, Note, query, api_client.caller, **how)
    return [note.name for note in found], following


async def walk(api_client, limit=2, **how):
    names, following = await page(api_client, limit, **how)
    while following:
        some, following = await page(api_client, limit, following, **how)
        names += some
    return names


async def whole(api_client):
    return [note["name"] for note in await api_client.notes()]


async def test_pages_follow_one_another_as_the_whole_list_does_also_within_one_instant(
    api_client, other_workspace
):
    await other_workspace.create("Theirs")
    for number in range(7):
        await api_client.create(f"{number}")
        if number in (2, 3, 4):
            api_client.later(seconds=-1)  # the next one is made in the same instant
    assert len({note["created_at"] for note in await api_client.notes()}) == 4
    expected = await whole(api_client)
    assert len(expected) == 7
    for limit in (1, 2, 3, 7, 8):
        assert await walk(api_client, limit) == expected


async def test_a_page_holds_the_records_that_match_and_fit(api_client):
    for number in range(6):
        await api_client.create(f"{number}", text="odd" if number % 2 else "even")
    expected = await whole(api_client)
    odd = [name for name in expected if int(name) % 2]
    assert await walk(api_client, field_filters={"text": "odd"}) == odd
    assert await walk(api_client, field_filters={"text": "neither"}) == []
    assert await walk(api_client, field_filters={"text": "odd", "name": "3"}) == ["3"]
    async with api_client.writes.transactions.read(api_client.caller.workspace.id) as unit:
        assert [
            note.name for note in await unit.resources.list_all(Note, field_filters={"text": "odd"})
        ] == odd
    large = [name for name in odd if int(name) > 1]
    assert (
        await walk(api_client, 1, field_filters={"text": "odd"}, predicate=lambda note: int(note.name) > 1)
        == large
    )


async def test_what_is_made_or_deleted_meanwhile_neither_shifts_nor_repeats_a_page(api_client):
    made = {name: (await api_client.create(name)).data["id"] for name in ("1", "2", "3", "4", "5")}
    expected = await whole(api_client)
    first, following = await page(api_client)
    await api_client.delete(made[first[0]])
    await api_client.delete(made[first[1]])
    second, following = await page(api_client, cursor=following)
    third, following = await page(api_client, cursor=following)
    assert first + second + third == expected
    assert following is None
