"""Tables with one column per field of a dataclass, and the way from a row to the dataclass and back."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, Final, TypeVar, get_type_hints

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant, column_type_of, is_optional

_Record = TypeVar("_Record")

METADATA: Final = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)
"""Every constraint has a name, so that a migration can drop it on any engine."""

_OWNERS: Final[Mapping[str, str]] = {"workspace_id": "workspaces", "account_id": "accounts"}
"""Columns of type UUID that refer to a table; their rows are deleted with the row they refer to."""


RECORDED_AT: Final = "recorded_at"


def recorded_at_column() -> sa.Column[Any]:
    """Returns the column of a table with a history: when the content of the row was recorded."""
    return sa.Column(RECORDED_AT, Instant, nullable=False)


def cascading_reference_column(table: str, *, nullable: bool = False, **options: Any) -> sa.Column[Any]:
    """Returns a column such as ``workspace_id`` that refers to a table such as ``workspaces``."""
    key = sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
    return sa.Column(f"{table.removesuffix('s')}_id", key, nullable=nullable, **options)


def record_table(
    name: str,
    model: type,
    *items: sa.schema.SchemaItem,
    key: Sequence[str] = ("id",),
    indexed: Sequence[str] = (),
    unique: Sequence[str] = (),
    exclude: Sequence[str] = (),
    **options: Any,
) -> sa.Table:
    """Returns a table with one column per field of a dataclass.

    Args:
        name: of the table.
        model: the dataclass. Its annotations say the types, and which columns may be empty.
        items: further columns, constraints and indexes. A column with the name of a field replaces the derived one.
        key: columns of the primary key.
        indexed: columns with an index of their own.
        unique: columns that have no value twice.
        exclude: fields without a column.
        options: of the table, for SQLAlchemy.
    """
    columns = [item for item in items if isinstance(item, sa.Column)]
    derived = [
        _derived_column(field, annotation, index=field in indexed or None, unique=field in unique or None)
        for field, annotation in annotations_of(model).items()
        if field not in {*exclude, *(column.name for column in columns)}
    ]
    others = [item for item in items if not isinstance(item, sa.Column)]
    primary_key = sa.PrimaryKeyConstraint(*key)
    return sa.Table(name, METADATA, *columns, *derived, primary_key, *others, **options)


def _derived_column(name: str, annotation: Any, **options: Any) -> sa.Column[Any]:
    type_, optional = column_type_of(annotation), is_optional(annotation)
    if name in _OWNERS and isinstance(type_, sa.Uuid):
        return cascading_reference_column(_OWNERS[name], nullable=optional, **options)
    return sa.Column(name, type_, nullable=optional, **options)


def annotations_of(model: Any) -> Mapping[str, Any]:
    """Returns the annotations of the fields of a dataclass, in order."""
    return _annotations_of(model)


@lru_cache(maxsize=64)
def _annotations_of(model: Any) -> Mapping[str, Any]:
    annotations = get_type_hints(model)
    return {field.name: annotations[field.name] for field in fields(model)}


def row_of(record: Any) -> dict[str, Any]:
    """Returns the columns of a dataclass."""
    return {name: getattr(record, name) for name in annotations_of(type(record))}


def record_of(model: type[_Record], row: Mapping[Any, Any], prefix: str = "") -> _Record:
    """Returns the dataclass of a row whose columns may have a prefix."""
    return model(**{name: row[f"{prefix}{name}"] for name in annotations_of(model)})


def prefixed_columns(table: sa.Table, prefix: str) -> list[sa.Label[Any]]:
    """Returns the columns of a table with a prefix, for a query that joins tables with equal column names."""
    return [column.label(f"{prefix}{column.name}") for column in table.columns]


def partial_index(table: sa.Table, name: str, columns: str, condition: str) -> None:
    """Creates an index of some rows together with the table. An `Index` would load the dialects of all engines."""
    execute_when_created(table, f"CREATE INDEX ix_{name} ON {table.name} ({columns}) WHERE {condition}")


def execute_when_created(table: sa.Table, statement: str) -> None:
    """Executes a statement when the table is created."""
    sa.event.listen(
        table, "after_create", lambda _table, connection, **_: connection.exec_driver_sql(statement)
    )
