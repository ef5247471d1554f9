"""PostgreSQL's spelling of the constructs, as a compile-only dialect."""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import TypeCompiler

from plugins.events_sql import functions as fn
from plugins.events_sql.tables import Json

_MICROS: Final = (
    "((CAST({0} AS DATE) - DATE '1970-01-01') * 86400000000"
    " + CAST(date_part('epoch', CAST({0} AS TIME)) * 1000000 AS BIGINT))"
)
"""Whole days, and the seconds of one as a float, exact to the microsecond: ``extract`` tells the epoch as
NUMERIC, which takes several times as long."""


class _Compiler(PGCompiler):
    """Functions whose plain form depends on how the database was set up."""

    def visit_lower_func(self, function: Any, **options: Any) -> str:
        """Lower case in every script: what ``lower`` does follows from the collation."""
        return f"lowered({self.process(function.clauses, **options)})"


class PostgresDialect(PGDialect):
    """SQLAlchemy's own, with numbered parameters."""

    supports_statement_cache = True
    statement_compiler = _Compiler

    def __init__(self) -> None:
        super().__init__(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]


@compiles(Json, PostgresDialect.name)
def _json(_element: Json, _compiler: TypeCompiler, **_options: Any) -> str:
    return "JSONB"


def column(declared: sa.Column[Any], dialect: PostgresDialect) -> str:
    """A column of a table: text is ordered by code point, however the database was set up."""
    spelled = declared.type.compile(dialect=dialect)
    collated = ' COLLATE "C"' if spelled.startswith("TEXT") else ""
    return f"{declared.name} {spelled}{collated}"


def _latest(value: str, at: str, seq: str, *met: str) -> str:
    found = f"first_of({value} ORDER BY {at} DESC, {seq} DESC)"
    return f"{found} FILTER (WHERE {met[0]})" if met else found


def _said_mail(document: str) -> str:
    places = (f"{document} #> '{{traits,email}}'", f"{document} -> 'email'")
    told = (f"CASE WHEN jsonb_typeof({place}) <> 'null' THEN {place} END" for place in places)
    return f"coalesce({', '.join(told)})"


def _list(document: str, *keys: str) -> str:
    found = (
        f"CASE WHEN jsonb_typeof({document} -> {key}) = 'array' AND {document} -> {key} <> '[]'"
        f" THEN {document} -> {key} END"
        for key in keys
    )
    return f"coalesce({', '.join(found)})"


fn.spell(
    PostgresDialect.name,
    {
        fn.Skips: "true",
        fn.Implied: "true",
        fn.Beside: "({0})",
        fn.Micros: _MICROS,
        fn.Quotient: "(({}) / ({}))",
        fn.WideQuotient: "div({}, {})",
        fn.Whole: "CAST(coalesce({}, 0) AS BIGINT)",
        fn.Huge: "CAST({} AS NUMERIC)",
        fn.Rounded: "round(CAST({} AS NUMERIC), 6)",
        fn.Position: f"(CAST({_MICROS} AS NUMERIC) * 9223372036854775808 + {{1}})",
        fn.JsonSet: "jsonb_extract_path_text({}, {})",
        fn.JsonScalar: (
            "CASE WHEN jsonb_typeof(jsonb_extract_path({0}, {1})) NOT IN ('object', 'array')"
            " THEN jsonb_extract_path_text({0}, {1}) END"
        ),
        fn.JsonIsBoolean: "(jsonb_typeof(jsonb_extract_path({0}, {1})) = 'boolean')",
        fn.JsonString: "CASE WHEN jsonb_typeof({0} -> {1}) = 'string' THEN {0} ->> {1} END",
        fn.SaidMail: _said_mail,
        fn.MailDigest: "encode(sha256(convert_to(translate({}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'), 'UTF8')), 'hex')",
        fn.JsonText: "CASE WHEN jsonb_typeof({0}) = 'string' THEN btrim({0} #>> '{{}}') END",
        fn.JsonKeys: 'jsonb_object_keys({}) COLLATE "C"',
        fn.JsonMember: "CAST({} -> {} AS TEXT)",
        fn.JsonList: _list,
        fn.JsonOne: "jsonb_build_array({})",
        fn.JsonElements: "jsonb_array_elements({})",
        fn.JsonKind: "upper(jsonb_typeof(CAST({} AS JSONB)))",
        fn.Row: lambda *texts: f"CAST(ARRAY[{', '.join(texts)}] AS TEXT[])",
        fn.Only: "({})[1]",
        fn.At: "({})[CAST({} AS INTEGER)]",
        fn.Each: "unnest({})",
        fn.Listed: "({} = ANY({}))",
        fn.Overlaps: "({} && CAST({} AS TEXT[]))",
        fn.SortedUnion: 'ARRAY(SELECT DISTINCT x COLLATE "C" FROM unnest({} || {}) AS u(x) ORDER BY 1)',
        fn.Latest: _latest,
        fn.Earliest: "first_of({} ORDER BY {}, {})",
        fn.InOrder: "array_agg({} ORDER BY {}, {})",
        fn.List: "array_agg({})",
        fn.DistinctList: "array_agg(DISTINCT {})",
        fn.SortedList: "coalesce(array_agg(DISTINCT {0} ORDER BY {0}) FILTER (WHERE {1}), '{{}}')",
        fn.Median: (
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY CAST({} AS DOUBLE PRECISION)) FILTER (WHERE {})"
        ),
        fn.Spelled: "spelled({}, {})",
        fn.Has: "(strpos({}, {}) > 0)",
        fn.Starts: "starts_with({}, {})",
        fn.Ends: "(right({0}, length({1})) = {1})",
    },
)
