"""Lists by page (contract 2.9): in every store, in the order of the whole list, whatever happens meanwhile."""

from service_core.changes.listing import ListQuery, page_of
from tests.changes.conftest import Note


class Listed(ListQuery):
    """A list of notes."""


async def page(desk, limit=2, cursor=None, **how):
    query = Listed(limit=limit, cursor=cursor)
    async with desk.writes.units.look(desk.who.workspace.id) as unit:
        found, following = await page_of(unit.resources, Note, query, desk.who, **how)
    return [note.name for note in found], following


async def walk(desk, limit=2, **how):
    names, following = await page(desk, limit, **how)
    while following:
        some, following = await page(desk, limit, following, **how)
        names += some
    return names


async def whole(desk):
    return [note["name"] for note in await desk.notes()]


async def test_pages_follow_one_another_as_the_whole_list_does_also_within_one_instant(desk, neighbour):
    await neighbour.create("Theirs")
    for number in range(7):
        await desk.create(f"{number}")
        if number in (2, 3, 4):
            desk.later(seconds=-1)  # the next one is made in the same instant
    assert len({note["created_at"] for note in await desk.notes()}) == 4
    expected = await whole(desk)
    assert len(expected) == 7
    for limit in (1, 2, 3, 7, 8):
        assert await walk(desk, limit) == expected


async def test_a_page_holds_the_records_that_match_and_fit(desk):
    for number in range(6):
        await desk.create(f"{number}", text="odd" if number % 2 else "even")
    expected = await whole(desk)
    odd = [name for name in expected if int(name) % 2]
    assert await walk(desk, matching={"text": "odd"}) == odd
    assert await walk(desk, matching={"text": "neither"}) == []
    assert await walk(desk, matching={"text": "odd", "name": "3"}) == ["3"]
    async with desk.writes.units.look(desk.who.workspace.id) as unit:
        assert [note.name for note in await unit.resources.every(Note, matching={"text": "odd"})] == odd
    large = [name for name in odd if int(name) > 1]
    assert await walk(desk, 1, matching={"text": "odd"}, fits=lambda note: int(note.name) > 1) == large


async def test_what_is_made_or_deleted_meanwhile_neither_shifts_nor_repeats_a_page(desk):
    made = {name: (await desk.create(name)).data["id"] for name in ("1", "2", "3", "4", "5")}
    expected = await whole(desk)
    first, following = await page(desk)
    await desk.delete(made[first[0]])
    await desk.delete(made[first[1]])
    second, following = await page(desk, cursor=following)
    third, following = await page(desk, cursor=following)
    assert first + second + third == expected
    assert following is None
