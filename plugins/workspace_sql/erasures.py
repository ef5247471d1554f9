"""Stores of erasures, and of the records about persons that they remove."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.change_counter import request_increment_at_commit
from plugins.workspace_sql.column_types import plain_type
from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.matched_visits import digest_visit
from plugins.workspace_sql.records import row_of
from plugins.workspace_sql.revenue_tables import (
    MOVEMENTS,
    REPORTED_STATES,
    STATUS_PERIODS,
    SUBSCRIPTION_PAYMENTS,
)
from plugins.workspace_sql.row_history import REPLACED_ROWS
from plugins.workspace_sql.statements import matches, upsert
from plugins.workspace_sql.tables import (
    AUDIT_LOG,
    CLICKS,
    ERASURES,
    IDEMPOTENCY_RECORDS,
    MATCHED_VISITS,
    POSTBACKS,
    RESOURCES,
)
from service_core.plugin import Erasure, ErasureStatus, PersonSubject

_T = TypeVar("_T")
_PART_SIZE: Final = 500
_IDENTITY_LINK: Final = "identity_link"
_HELD_WRITES: Final = {"write_approvals": "write_approval", "change_sets": "change_set"}
"""Kind of record in certificates and access requests -> type of the records that hold writes which are not applied."""

_CONTENT_OF_WRITES: Final = ("name", "requests", "planned_changes")
"""The parts of these that are content; the others say who asked for them and decided them."""
_SUBSCRIPTION_TABLES: Final = (REPORTED_STATES, SUBSCRIPTION_PAYMENTS, MOVEMENTS, STATUS_PERIODS)


class SqlErasures(SqlStore):
    """Implements the port `Erasures`."""

    async def save_erasure(self, erasure: Erasure) -> None:
        """Adds or replaces an erasure. A completed one invalidates the caches of all processes."""
        row = row_of(erasure)
        async with self._database.write() as connection:
            await connection.execute(upsert(connection, ERASURES, row).values(row))
            if erasure.status is ErasureStatus.COMPLETED:
                request_increment_at_commit(connection)

    async def list_erasures(self, workspace_id: UUID) -> list[Erasure]:
        """Returns the erasures of a workspace, newest first."""
        own = sa.select(ERASURES).where(ERASURES.c.workspace_id == workspace_id)
        newest = own.order_by(ERASURES.c.requested_at.desc(), ERASURES.c.id.desc())
        return await self._database.fetch_records(Erasure, newest)

    async def list_requested_erasures(self) -> list[Erasure]:
        """Returns the erasures that are not completed, oldest first."""
        requested = sa.select(ERASURES).where(ERASURES.c.status == ErasureStatus.REQUESTED)
        return await self._database.fetch_records(
            Erasure, requested.order_by(ERASURES.c.requested_at, ERASURES.c.id)
        )


class SqlPersonalRecords(SqlStore):
    """Implements the port `PersonalRecords`."""

    async def find_personal_records(
        self, workspace_id: UUID, subject: PersonSubject
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Returns postbacks, subscription reports and payments, writes that are held, and audit entries about a person."""
        async with self._database.read() as connection:
            return await connection.run_sync(_find_records, workspace_id, subject)

    async def erase_personal_records(self, workspace_id: UUID, subject: PersonSubject) -> Mapping[str, int]:
        """Deletes the records about a person in one transaction, and redacts audit entries."""
        async with self._database.write(workspace_id, no_timeout=True) as connection:
            return await connection.run_sync(_erase_records, workspace_id, subject)


def _erase_records(connection: sa.Connection, workspace_id: UUID, subject: PersonSubject) -> dict[str, int]:
    return {
        "postbacks": _execute_in_parts(
            connection,
            subject.event_ids,
            lambda ids: sa.delete(POSTBACKS).where(
                POSTBACKS.c.workspace_id == workspace_id, POSTBACKS.c.event_id.in_(ids)
            ),
        ),
        "click_addresses": _execute_in_parts(
            connection,
            subject.addresses,
            lambda ips: (
                sa.update(CLICKS)
                .where(CLICKS.c.workspace_id == workspace_id, CLICKS.c.ip.in_(ips))
                .values(ip=None)
            ),
        ),
        "matched_visits": _execute_in_parts(
            connection,
            map(digest_visit, subject.visits),
            lambda visits: sa.delete(MATCHED_VISITS).where(
                MATCHED_VISITS.c.workspace_id == workspace_id, MATCHED_VISITS.c.visit.in_(visits)
            ),
        ),
        "subscriptions": _delete_subscriptions(connection, workspace_id, subject),
        "identity_link_revocations": _delete_revocations(connection, workspace_id, subject),
        **{
            kind: _delete_resources(connection, workspace_id, type_, partial(_names_person, subject))
            for kind, type_ in _HELD_WRITES.items()
        },
        "audit_entries": _redact_audit_entries(connection, workspace_id, subject),
        "replaced_rows": _redact_replaced_rows(connection, workspace_id, subject),
        "idempotency_answers": _delete_idempotency_answers(connection, workspace_id, subject),
    }


def _execute_in_parts(connection: sa.Connection, values: Iterable[str], statement: Any) -> int:
    """Executes a statement for some values at a time and returns how many rows it changed."""
    return sum(connection.execute(statement(part)).rowcount for part in _parts(sorted(values)))


def _parts(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for start in range(0, len(values), _PART_SIZE):
        yield values[start : start + _PART_SIZE]


def _subscriptions_of(connection: sa.Connection, workspace_id: UUID, subject: PersonSubject) -> list[UUID]:
    column = REPORTED_STATES.c
    rows = connection.execute(
        sa.select(column.subscription, column.identity).where(column.workspace_id == workspace_id)
    )
    return sorted({
        subscription for subscription, identity in rows if any(id_ in subject.ids for _, id_ in identity)
    })  # fmt: skip


def _delete_subscriptions(connection: sa.Connection, workspace_id: UUID, subject: PersonSubject) -> int:
    subscriptions = _subscriptions_of(connection, workspace_id, subject)
    for part in _parts(subscriptions):
        for table in _SUBSCRIPTION_TABLES:
            connection.execute(
                sa.delete(table).where(table.c.workspace_id == workspace_id, table.c.subscription.in_(part))
            )
    return len(subscriptions)


def _delete_revocations(connection: sa.Connection, workspace_id: UUID, subject: PersonSubject) -> int:
    return _delete_resources(
        connection, workspace_id, _IDENTITY_LINK, lambda state: state.get("name") in subject.event_ids
    )


def _content_about_person(subject: PersonSubject, state: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the content of writes that are held, without those that do not name the person but may name others."""
    return {
        name: [each for each in value if subject.redact(each) != each] if isinstance(value, list) else value
        for name, value in _content_of_writes(state).items()
    }


def _content_of_writes(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: state[name] for name in _CONTENT_OF_WRITES if name in state}


def _names_person(subject: PersonSubject, state: Mapping[str, Any]) -> bool:
    """Returns whether writes that are held, also expired ones, name a person."""
    writes = _content_of_writes(state)
    return bool(subject.redact(writes) != writes)


def _delete_resources(
    connection: sa.Connection,
    workspace_id: UUID,
    type_: str,
    is_deleted: Callable[[Mapping[str, Any]], bool],
) -> int:
    own = matches(RESOURCES, workspace_id=workspace_id, type=type_)
    rows = connection.execute(sa.select(RESOURCES.c.id, RESOURCES.c.state).where(own))
    gone = [id_ for id_, state in rows if is_deleted(state)]
    for part in _parts(gone):
        connection.execute(sa.delete(RESOURCES).where(RESOURCES.c.id.in_(part)))
    return len(gone)


def _redact_audit_entries(connection: sa.Connection, workspace_id: UUID, subject: PersonSubject) -> int:
    changed = 0
    query = sa.select(AUDIT_LOG.c.id, AUDIT_LOG.c.entry).where(AUDIT_LOG.c.workspace_id == workspace_id)
    for id_, entry in connection.execute(query).all():
        redacted = {
            name: subject.redact(value) if name in _REDACTED_PARTS else value for name, value in entry.items()
        }
        if redacted != entry:
            connection.execute(sa.update(AUDIT_LOG).where(AUDIT_LOG.c.id == id_).values(entry=redacted))
            changed += 1
    return changed


def _redact_replaced_rows(connection: sa.Connection, workspace_id: UUID, subject: PersonSubject) -> int:
    column, changed = REPLACED_ROWS.c, 0
    query = sa.select(column.id, column.content).where(column.workspace_id == workspace_id)
    for id_, content in connection.execute(query).all():
        redacted = subject.redact(content)
        if redacted != content:
            connection.execute(sa.update(REPLACED_ROWS).where(column.id == id_).values(content=redacted))
            changed += 1
    return changed


_REDACTED_PARTS: Final = frozenset({"resource", "prior_state", "new_state", "changes", "effects"})
"""The parts of an audit entry that are content; the others say who did what when."""


def _delete_idempotency_answers(connection: sa.Connection, workspace_id: UUID, subject: PersonSubject) -> int:
    column = IDEMPOTENCY_RECORDS.c
    rows = connection.execute(
        sa.select(column.digest, column.answer).where(column.workspace_id == workspace_id)
    )
    gone = [digest for digest, answer in rows if subject.redact(answer) != answer]
    for part in _parts(gone):
        connection.execute(sa.delete(IDEMPOTENCY_RECORDS).where(column.digest.in_(part)))
    return len(gone)


def _find_records(
    connection: sa.Connection, workspace_id: UUID, subject: PersonSubject
) -> dict[str, list[dict[str, Any]]]:
    postbacks: list[dict[str, Any]] = []
    for part in _parts(sorted(subject.event_ids)):
        own = POSTBACKS.c.workspace_id == workspace_id, POSTBACKS.c.event_id.in_(part)
        postbacks += _stored_rows(connection, POSTBACKS, *own)
    found: dict[str, list[dict[str, Any]]] = {"postbacks": postbacks}
    subscriptions = _subscriptions_of(connection, workspace_id, subject)
    for name, table in (
        ("subscription_reports", REPORTED_STATES),
        ("subscription_payments", SUBSCRIPTION_PAYMENTS),
    ):
        found[name] = [
            row
            for part in _parts(subscriptions)
            for row in _stored_rows(
                connection, table, table.c.workspace_id == workspace_id, table.c.subscription.in_(part)
            )
        ]
    for kind, type_ in _HELD_WRITES.items():
        held = _stored_rows(connection, RESOURCES, matches(RESOURCES, workspace_id=workspace_id, type=type_))
        found[kind] = [
            {"id": row["id"], **_content_about_person(subject, row["state"])}
            for row in held
            if _names_person(subject, row["state"])
        ]
    entries = _stored_rows(connection, AUDIT_LOG, AUDIT_LOG.c.workspace_id == workspace_id)
    found["audit_entries"] = [row["entry"] for row in entries if subject.is_mentioned_in(row["entry"])]
    return found


def _stored_rows(
    connection: sa.Connection, table: sa.Table, *conditions: sa.ColumnElement[bool]
) -> list[dict[str, Any]]:
    """Returns rows with their values as they are stored, without the workspace."""
    columns = [
        sa.type_coerce(column, plain_type(column.type)).label(column.name)
        for column in table.columns
        if column.name != "workspace_id"
    ]
    return [dict(row) for row in connection.execute(sa.select(*columns).where(*conditions)).mappings()]
