"""Visitors of providers that become part of a person by their e-mail (`insight.mails`), worked out on numbers."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.engine import Reader
from plugins.events_sql.tables import EVENTS, IDS, MAILS, OWNERS, REVOKED


@dataclass(frozen=True, slots=True)
class Whole:
    """Who is part of whom by every other id.

    Attributes:
        named: strong id -> the one that names its person.
        parts: person -> the person it is a part of.
        texts: how everyone among the parts is called.
    """

    named: Mapping[int, int]
    parts: Mapping[int, int]
    texts: Mapping[int, str]

    def of(self, number: int) -> int:
        """The whole person of an id."""
        own = self.named.get(number, number)
        return self.parts.get(own, own)


def mailed(reader: Reader, workspace: UUID, whole: Whole) -> dict[int, int]:
    """Visitors of providers, and the person each becomes part of."""
    having: defaultdict[str, set[int]] = defaultdict(set)
    seekers: defaultdict[int, set[str]] = defaultdict(set)
    texts = dict(whole.texts)
    for digest, number, source, text, owner in reader.rows(_shared(workspace)):
        if not source:
            having[digest].add(whole.of(number if owner is None else owner))
        elif owner is None:
            seekers[whole.of(number)].add(digest)
            texts[number] = text
    if not seekers:
        return {}
    providers = tuple(f"v:{source}:" for (source,) in reader.rows(_providers(workspace)))
    members: defaultdict[int, set[int]] = defaultdict(set)
    for part, person in whole.parts.items():
        members[person].add(part)
    found: dict[int, int] = {}
    for seeker, digests in seekers.items():
        group = members[seeker] | {seeker}
        persons = set().union(*(having[digest] for digest in digests)) - {seeker}
        if len(persons) == 1 and all(texts[one].startswith(providers) for one in group):
            found |= dict.fromkeys(group, persons.pop())
    return found


def _shared(workspace: UUID) -> sa.Select[Any]:
    """E-mails that somebody has and somebody seeks by: with who that is, and everyone a visitor ever belonged to.

    A visitor of whom an event was revoked seeks nobody.
    """
    c = MAILS.c
    both = sa.select(c.digest).where(c.workspace_id == workspace).group_by(c.digest)
    both = both.having(sa.func.min(c.source) == "", sa.func.max(c.source) != "")
    revoked = sa.select(REVOKED.c.event_id).where(REVOKED.c.workspace_id == workspace)
    left = sa.select(EVENTS.c.visitor_no).where(
        EVENTS.c.workspace_id == workspace, EVENTS.c.event_id.in_(revoked)
    )
    mails = sa.select(c.digest, c.no, c.source).where(
        c.workspace_id == workspace, c.digest.in_(both), sa.or_(c.source == "", c.no.not_in(left))
    )
    told = mails.subquery("told")
    named = sa.and_(IDS.c.workspace_id == workspace, IDS.c.no == told.c.no)
    source = told.join(IDS, named).outerjoin(OWNERS, OWNERS.c.visitor_no == told.c.no)
    return sa.select(*told.c, IDS.c.id, OWNERS.c.strong_no).select_from(source)


def _providers(workspace: UUID) -> sa.Select[Any]:
    """Who sent what seeks."""
    c = MAILS.c
    return sa.select(c.source).where(c.workspace_id == workspace, c.source != "").distinct()
