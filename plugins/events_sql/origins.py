"""Where the persons of a list of ids came from: a few statements, however long the list is."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.engine import Reader
from plugins.events_sql.facts import among
from plugins.events_sql.kin import ASKED, NEAR, THEIRS, keep_near, keep_theirs
from plugins.events_sql.people import first_touches
from plugins.events_sql.persona import HAD, keep_had, lasting, shown_touch
from plugins.events_sql.stitching import among_few
from plugins.events_sql.tables import IDS, KIN, PERSONS, Number
from service_core.plugin import Origin, user_id

_FEW: Final = sa.table("few", sa.column("no", Number))
"""Numbers of ids that are looked for."""


def origins(workspace_id: UUID, ids: Collection[str], reader: Reader) -> Mapping[str, Origin]:
    """Whose the ids are, users before visitors, and the first touches of those."""
    known = _numbers(workspace_id, "u:", ids, reader)
    users = _persons_of_users(workspace_id, known, reader)
    visitors = _numbers(workspace_id, "v:", set(ids) - users.keys(), reader)
    persons = {**_persons_of_visitors(workspace_id, visitors, reader), **users}
    if not persons:
        return {}
    keep_theirs(workspace_id, _of_numbers(workspace_id, persons.values()), reader)
    names = reader.rows(sa.select(IDS.c.no, IDS.c.id).where(among_few(ASKED.name, IDS.c.no)))
    keep_near(workspace_id, reader)
    touch = first_touches(lasting(workspace_id), NEAR).subquery("touch")
    own = sa.select(touch).where(among_few(ASKED.name, touch.c.person_no))
    touches = {row[0]: shown_touch(row[1:]) for row in reader.rows(own)}
    called = dict(names)
    return {id_: Origin(user_id(called[no]), touches.get(no)) for id_, no in persons.items()}


def _numbers(workspace_id: UUID, prefix: str, ids: Iterable[str], reader: Reader) -> dict[str, int]:
    """The numbers of ids of one kind, of those that have one."""
    spelled = [prefix + id_ for id_ in ids]
    if not spelled:
        return {}
    own = (IDS.c.workspace_id == workspace_id, among(IDS.c.id, spelled))
    rows = reader.rows(sa.select(IDS.c.id, IDS.c.no).where(*own))
    return {id_.removeprefix(prefix): no for id_, no in rows}


def _persons_of_users(workspace_id: UUID, known: Mapping[str, int], reader: Reader) -> dict[str, int]:
    """Whose the strong ids are, without those that were only ever mentioned."""
    if not known:
        return {}
    reader.keep(_FEW.name, _of_numbers(workspace_id, known.values()))
    parts = dict(reader.rows(_among(workspace_id, PERSONS.c.no, PERSONS.c.person_no)))
    wholes = reader.rows(_among(workspace_id, PERSONS.c.person_no))
    beside = reader.rows(_among(workspace_id, KIN.c.strong_no))
    lived = {no for (no,) in (*wholes, *beside)}
    return {id_: parts.get(no, no) for id_, no in known.items() if no in parts or no in lived}


def _persons_of_visitors(workspace_id: UUID, visitors: Mapping[str, int], reader: Reader) -> dict[str, int]:
    """Whose the latest events of visitors are."""
    if not visitors:
        return {}
    reader.keep(THEIRS.name, _of_numbers(workspace_id, visitors.values()))
    keep_had(workspace_id, "visitor_id", reader)
    newest = (HAD.c.timestamp.desc(), HAD.c.seq.desc())
    place = sa.func.row_number().over(partition_by=HAD.c.weak_id, order_by=newest).label("place")
    had = sa.select(HAD.c.weak_id, HAD.c.person_no, place).subquery("latest")
    return dict(reader.rows(sa.select(had.c.weak_id, had.c.person_no).where(had.c.place == 1)))


def _among(workspace_id: UUID, column: Any, *further: Expression) -> sa.Select[Any]:
    own = (column.table.c.workspace_id == workspace_id, among_few(_FEW.name, column))
    return sa.select(column, *further).where(*own).distinct()


def _of_numbers(workspace_id: UUID, numbers: Iterable[int]) -> sa.Select[Any]:
    """The numbers as a table of the question."""
    own = fn.OneOf(IDS.c.no, *(sa.literal(number, Number()) for number in sorted(set(numbers))))
    return sa.select(IDS.c.no).where(IDS.c.workspace_id == workspace_id, own)
