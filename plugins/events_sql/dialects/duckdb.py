"""DuckDB's spelling of the constructs, as a compile-only dialect: no driver, no pool."""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from plugins.events_sql import functions as fn


class DuckDialect(PGDialect):
    """PostgreSQL's grammar is DuckDB's; numbers and functions differ."""

    name = "duckdb"
    supports_statement_cache = True
    div_is_floordiv = False

    def __init__(self) -> None:
        super().__init__(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]


TEMPLATES: Final[dict[type[FunctionElement[Any]], str]] = {
    fn.Micros: "epoch_us({})",
    fn.Quotient: "(({}) // ({}))",
    fn.Whole: "CAST(coalesce({}, 0) AS BIGINT)",
    fn.JsonSet: "json_extract_string({}, {})",
    fn.JsonScalar: "CASE WHEN json_type({0}, {1}) NOT IN ('OBJECT', 'ARRAY') THEN json_extract_string({0}, {1}) END",
    fn.JsonType: "json_type({}, {})",
    fn.Huge: "CAST({} AS HUGEINT)",
    fn.InOrder: "list({} ORDER BY {}, {})",
    fn.SaidMail: (
        "coalesce(CASE WHEN json_type({0}, '$.traits.email') <> 'NULL' THEN json_extract({0}, '$.traits.email') END,"
        " CASE WHEN json_type({0}, '$.email') <> 'NULL' THEN json_extract({0}, '$.email') END)"
    ),
    fn.JsonText: "CASE WHEN json_type({0}) = 'VARCHAR' THEN trim(json_extract_string({0}, '$')) END",
    fn.Only: "({})[1]",
    fn.Position: "(epoch_us({})::HUGEINT * 9223372036854775808 + {})",
    fn.JsonKeys: "unnest(json_keys({}))",
    fn.JsonMember: "CAST(json_extract({0}, '/' || replace(replace({1}, '~', '~0'), '/', '~1')) AS VARCHAR)",
    fn.JsonKind: "json_type({})",
    fn.Latest: "arg_max({}, ({}, {}))",
    fn.DistinctList: "list(DISTINCT {})",
    fn.Spelled: "CASE WHEN regexp_full_match({0}, {1}) THEN TRY_CAST({0} AS DOUBLE) END",
    fn.Has: "contains({}, {})",
    fn.Starts: "starts_with({}, {})",
    fn.Ends: "suffix({}, {})",
}


def _spell(template: str) -> Callable[..., str]:
    def compiled(element: FunctionElement[Any], compiler: SQLCompiler, **options: Any) -> str:
        return template.format(*fn.arguments(element, compiler, **options))

    return compiled


for _construct, _template in TEMPLATES.items():
    compiles(_construct, DuckDialect.name)(_spell(_template))


@compiles(fn.Row, DuckDialect.name)
def _row(element: fn.Row, compiler: SQLCompiler, **options: Any) -> str:
    return f"[{', '.join(fn.arguments(element, compiler, **options))}]"


@compiles(fn.Overlaps, DuckDialect.name)
def _overlaps(element: fn.Overlaps, compiler: SQLCompiler, **options: Any) -> str:
    first, *others = fn.arguments(element, compiler, **options)
    return f"list_has_any({first}, [{', '.join(others)}])"
