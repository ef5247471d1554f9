"""Merges visitors of revenue providers into the person with the same e-mail, on id numbers."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.schema.tables import EMAIL_DIGESTS, EVENTS, ID_NUMBERS, REVOKED_LINKS, VISITOR_OWNERS


@dataclass(frozen=True, slots=True)
class PersonMerges:
    """The merges found by all other ids.

    Attributes:
        name_ids: strong id -> the strong id that names its person.
        merged_into: person -> the person it is merged into.
        id_texts: texts of all merged persons.
    """

    name_ids: Mapping[int, int]
    merged_into: Mapping[int, int]
    id_texts: Mapping[int, str]

    def person_of(self, number: int) -> int:
        """Returns the person that an id belongs to after all merges."""
        name = self.name_ids.get(number, number)
        return self.merged_into.get(name, name)


def merge_provider_visitors_by_email(
    runner: StatementRunner, workspace: UUID, other_merges: PersonMerges
) -> dict[int, int]:
    """Returns visitors of revenue providers and the person each is merged into."""
    owners_by_digest: defaultdict[str, set[int]] = defaultdict(set)
    digests_by_seeker: defaultdict[int, set[str]] = defaultdict(set)
    texts = dict(other_merges.id_texts)
    for digest, number, source, text, owner in runner.fetch_rows(_digests_with_owner_and_seeker(workspace)):
        if not source:
            owners_by_digest[digest].add(other_merges.person_of(number if owner is None else owner))
        elif owner is None:
            digests_by_seeker[other_merges.person_of(number)].add(digest)
            texts[number] = text
    if not digests_by_seeker:
        return {}
    providers = tuple(f"v:{source}:" for (source,) in runner.fetch_rows(_seeking_sources(workspace)))
    members: defaultdict[int, set[int]] = defaultdict(set)
    for part, person in other_merges.merged_into.items():
        members[person].add(part)
    merged: dict[int, int] = {}
    for seeker, digests in digests_by_seeker.items():
        group = members[seeker] | {seeker}
        persons = set().union(*(owners_by_digest[digest] for digest in digests)) - {seeker}
        if len(persons) == 1 and all(texts[member].startswith(providers) for member in group):
            merged |= dict.fromkeys(group, persons.pop())
    return merged


def _digests_with_owner_and_seeker(workspace: UUID) -> sa.Select[Any]:
    """Selects e-mails that have both an owner and a seeking visitor, with the owners those visitors ever had.

    A visitor with a revoked event seeks nobody.
    """
    c = EMAIL_DIGESTS.c
    both = sa.select(c.digest).where(c.workspace_id == workspace).group_by(c.digest)
    both = both.having(sa.func.min(c.source) == "", sa.func.max(c.source) != "")
    revoked = sa.select(REVOKED_LINKS.c.event_id).where(REVOKED_LINKS.c.workspace_id == workspace)
    revoked_visitors = sa.select(EVENTS.c.visitor_no).where(
        EVENTS.c.workspace_id == workspace, EVENTS.c.event_id.in_(revoked)
    )
    digests = sa.select(c.digest, c.number, c.source).where(
        c.workspace_id == workspace,
        c.digest.in_(both),
        sa.or_(c.source == "", c.number.not_in(revoked_visitors)),
    )
    shared = digests.subquery("shared_digests")
    has_id = sa.and_(ID_NUMBERS.c.workspace_id == workspace, ID_NUMBERS.c.number == shared.c.number)
    source = shared.join(ID_NUMBERS, has_id).outerjoin(
        VISITOR_OWNERS, VISITOR_OWNERS.c.visitor_no == shared.c.number
    )
    return sa.select(*shared.c, ID_NUMBERS.c.id, VISITOR_OWNERS.c.strong_no).select_from(source)


def _seeking_sources(workspace: UUID) -> sa.Select[Any]:
    """Selects the sources that sent visitors who seek a person by e-mail."""
    c = EMAIL_DIGESTS.c
    return sa.select(c.source).where(c.workspace_id == workspace, c.source != "").distinct()
