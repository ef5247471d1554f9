"""The SQL compiler of PostgreSQL: SQLAlchemy's dialect with other functions."""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import TypeCompiler

from plugins.events_sql.schema.tables import Json
from plugins.events_sql.sql import functions as fn

_EPOCH_MICROSECONDS: Final = (
    "((CAST({0} AS DATE) - DATE '1970-01-01') * 86400000000"
    " + CAST(date_part('epoch', CAST({0} AS TIME)) * 1000000 AS BIGINT))"
)
"""Days as an integer plus the seconds of the day as a float, exact to the microsecond: ``extract`` returns the epoch as
NUMERIC, which takes several times as long.
"""


class _Compiler(PGCompiler):
    """Renders functions whose result depends on the database's collation."""

    def visit_lower_func(self, function: Any, **options: Any) -> str:
        """Returns lower case for all scripts; the result of ``lower`` depends on the collation."""
        return f"lowered({self.process(function.clauses, **options)})"


class PostgreSqlDialect(PGDialect):
    """SQLAlchemy's dialect with numbered parameters."""

    supports_statement_cache = True
    statement_compiler = _Compiler

    def __init__(self) -> None:
        super().__init__(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]


@compiles(Json, PostgreSqlDialect.name)
def _compile_json_type(_element: Json, _compiler: TypeCompiler, **_options: Any) -> str:
    return "JSONB"


def column_definition(declared: sa.Column[Any], dialect: PostgreSqlDialect) -> str:
    """Returns the definition of a column; texts are ordered by code point, whatever the database's collation."""
    spelled = declared.type.compile(dialect=dialect)
    collated = ' COLLATE "C"' if spelled.startswith("TEXT") else ""
    return f"{declared.name} {spelled}{collated}"


def _latest_by(value: str, at: str, seq: str, *condition: str) -> str:
    text = f"first_of({value} ORDER BY {at} DESC, {seq} DESC)"
    return f"{text} FILTER (WHERE {condition[0]})" if condition else text


def _earliest_by(value: str, at: str, seq: str, *condition: str) -> str:
    text = f"first_of({value} ORDER BY {at}, {seq})"
    return f"{text} FILTER (WHERE {condition[0]})" if condition else text


def _identify_email(document: str) -> str:
    places = (f"{document} #> '{{traits,email}}'", f"{document} -> 'email'")
    cases = (f"CASE WHEN jsonb_typeof({place}) <> 'null' THEN {place} END" for place in places)
    return f"coalesce({', '.join(cases)})"


def _first_nonempty_json_list(document: str, *keys: str) -> str:
    cases = (
        f"CASE WHEN jsonb_typeof({document} -> {key}) = 'array' AND {document} -> {key} <> '[]'"
        f" THEN {document} -> {key} END"
        for key in keys
    )
    return f"coalesce({', '.join(cases)})"


fn.register_compilations(
    PostgreSqlDialect.name,
    {
        fn.PruningHint: "true",
        fn.RedundantCondition: "true",
        fn.UnindexedCondition: "({0})",
        fn.EpochMicroseconds: _EPOCH_MICROSECONDS,
        fn.IntegerDivide: "(({}) / ({}))",
        fn.WideIntegerDivide: "div({}, {})",
        fn.IntegerOrZero: "CAST(coalesce({}, 0) AS NUMERIC)",
        fn.Summand: "{}",
        fn.WideInteger: "CAST({} AS NUMERIC)",
        fn.Rounded: "round(CAST({} AS NUMERIC), 6)",
        fn.EventPosition: f"(CAST({_EPOCH_MICROSECONDS} AS NUMERIC) * 9223372036854775808 + {{1}})",
        fn.JsonIsSet: "jsonb_extract_path_text({}, {})",
        fn.JsonScalar: (
            "CASE WHEN jsonb_typeof(jsonb_extract_path({0}, {1})) NOT IN ('object', 'array')"
            " THEN jsonb_extract_path_text({0}, {1}) END"
        ),
        fn.JsonIsBoolean: "(jsonb_typeof(jsonb_extract_path({0}, {1})) = 'boolean')",
        fn.JsonString: "CASE WHEN jsonb_typeof({0} -> {1}) = 'string' THEN {0} ->> {1} END",
        fn.IdentifyEmail: _identify_email,
        fn.EmailDigest: "encode(sha256(convert_to(translate({}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'), 'UTF8')), 'hex')",
        fn.JsonText: "CASE WHEN jsonb_typeof({0}) = 'string' THEN btrim({0} #>> '{{}}') END",
        fn.JsonKeys: 'jsonb_object_keys({}) COLLATE "C"',
        fn.JsonMember: "CAST({} -> {} AS TEXT)",
        fn.JsonList: _first_nonempty_json_list,
        fn.JsonSingletonList: "jsonb_build_array({})",
        fn.JsonElements: "jsonb_array_elements({})",
        fn.JsonType: "upper(jsonb_typeof(CAST({} AS JSONB)))",
        fn.TupleKey: lambda *texts: f"CAST(ARRAY[{', '.join(texts)}] AS TEXT[])",
        fn.SingleElement: "({})[1]",
        fn.ElementAt: "({})[CAST({} AS INTEGER)]",
        fn.Unnest: "unnest({})",
        fn.InArray: "({} = ANY({}))",
        fn.ArraysOverlap: "({} && CAST({} AS TEXT[]))",
        fn.SortedArrayUnion: 'ARRAY(SELECT DISTINCT x COLLATE "C" FROM unnest({} || {}) AS u(x) ORDER BY 1)',
        fn.LatestBy: _latest_by,
        fn.EarliestBy: _earliest_by,
        fn.OrderedArrayAgg: "array_agg({} ORDER BY {}, {})",
        fn.ArrayAgg: "array_agg({})",
        fn.DistinctArrayAgg: "array_agg(DISTINCT {})",
        fn.SortedArrayAgg: "coalesce(array_agg(DISTINCT {0} ORDER BY {0}) FILTER (WHERE {1}), '{{}}')",
        fn.Median: (
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY CAST({} AS DOUBLE PRECISION)) FILTER (WHERE {})"
        ),
        fn.TryCastNumber: "spelled({}, {})",
        fn.TryCastWholeNumber: "CASE WHEN {0} ~ {1} THEN CAST({0} AS NUMERIC) END",
        fn.UrlHostname: "substring(translate({}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'), CAST({} AS TEXT))",
        fn.TextPrefix: "substr({}, 1, {})",
        fn.TextContains: "(strpos({}, {}) > 0)",
        fn.TextStartsWith: "starts_with({}, {})",
        fn.TextEndsWith: "(right({0}, length({1})) = {1})",
    },
)
