"""The SQL compiler of DuckDB, a SQLAlchemy dialect without driver."""

from typing import Any, Final

from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from plugins.events_sql.sql import functions as fn

_POSITION: Final = "(epoch_us({})::HUGEINT * 9223372036854775808 + {})"


class DuckDialect(PGDialect):
    """Compiles statements for DuckDB with PostgreSQL's grammar; numbers and functions differ."""

    name = "duckdb"
    supports_statement_cache = True
    div_is_floordiv = False

    def __init__(self) -> None:
        super().__init__(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]


@compiles(fn.JsonPath, DuckDialect.name)
def _compile_json_path(element: fn.JsonPath, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(next(iter(element.clauses)), **options)


def _latest_by(value: str, at: str, seq: str, *condition: str) -> str:
    text = f"arg_max({value}, {_POSITION.format(at, seq)})"
    return f"{text} FILTER (WHERE {condition[0]})" if condition else text


def _earliest_by(value: str, at: str, seq: str, *condition: str) -> str:
    text = f"arg_min({value}, {_POSITION.format(at, seq)})"
    return f"{text} FILTER (WHERE {condition[0]})" if condition else text


def _first_nonempty_json_list(document: str, *keys: str) -> str:
    places = (f"'$.' || {key}" for key in keys)
    cases = (
        f"CASE WHEN json_array_length({document}, {place}) > 0 THEN json_extract({document}, {place}) END"
        for place in places
    )
    return f"coalesce({', '.join(cases)})"


fn.register_compilations(
    DuckDialect.name,
    {
        fn.EpochMicroseconds: "epoch_us({})",
        fn.PruningHint: "({})",
        fn.RedundantCondition: "true",
        fn.UnindexedCondition: "CASE WHEN length({1}) >= 0 THEN {0} END",
        fn.IntegerDivide: "(({}) // ({}))",
        fn.WideIntegerDivide: "(({}) // ({}))",
        fn.IntegerOrZero: "CAST(coalesce({}, 0) AS HUGEINT)",
        fn.Summand: "{}",
        fn.WideInteger: "CAST({} AS HUGEINT)",
        fn.Rounded: "round({}, 6)",
        fn.EventPosition: _POSITION,
        fn.JsonIsSet: "json_extract_string({}, {})",
        fn.JsonScalar: (
            "CASE WHEN json_type({0}, {1}) NOT IN ('OBJECT', 'ARRAY') THEN json_extract_string({0}, {1}) END"
        ),
        fn.JsonIsBoolean: "(json_type({0}, {1}) = 'BOOLEAN')",
        fn.JsonString: (
            "CASE WHEN json_type({0}, '$.' || {1}) = 'VARCHAR' THEN json_extract_string({0}, '$.' || {1}) END"
        ),
        fn.IdentifyEmail: (
            "coalesce(CASE WHEN json_type({0}, '$.traits.email') <> 'NULL' THEN json_extract({0}, '$.traits.email') END,"
            " CASE WHEN json_type({0}, '$.email') <> 'NULL' THEN json_extract({0}, '$.email') END)"
        ),
        fn.EmailDigest: "sha256(translate({}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'))",
        fn.JsonText: "CASE WHEN json_type({0}) = 'VARCHAR' THEN trim(json_extract_string({0}, '$')) END",
        fn.JsonKeys: "unnest(json_keys({}))",
        fn.JsonMember: "CAST(json_extract({0}, '/' || replace(replace({1}, '~', '~0'), '/', '~1')) AS VARCHAR)",
        fn.JsonList: _first_nonempty_json_list,
        fn.JsonSingletonList: "CAST('[' || {} || ']' AS JSON)",
        fn.JsonElements: "unnest(json_extract({}, '$[*]'))",
        fn.JsonType: "json_type({})",
        fn.TupleKey: lambda *texts: f"[{', '.join(texts)}]",
        fn.SingleElement: "({})[1]",
        fn.ElementAt: "({})[{}]",
        fn.Unnest: "unnest({})",
        fn.InArray: "list_contains({1}, {0})",
        fn.ArraysOverlap: "list_has_any({}, {})",
        fn.SortedArrayUnion: "list_sort(list_distinct(list_concat({}, {})))",
        fn.LatestBy: _latest_by,
        fn.EarliestBy: _earliest_by,
        fn.OrderedArrayAgg: "list({} ORDER BY {}, {})",
        fn.ArrayAgg: "list({})",
        fn.DistinctArrayAgg: "list(DISTINCT {})",
        fn.SortedArrayAgg: "coalesce(list_sort(list(DISTINCT {}) FILTER (WHERE {})), [])",
        fn.Median: "median({}) FILTER (WHERE {})",
        fn.TryCastNumber: "CASE WHEN regexp_full_match({0}, {1}) THEN TRY_CAST({0} AS DOUBLE) END",
        fn.TryCastWholeNumber: "CASE WHEN regexp_full_match({0}, {1}) THEN TRY_CAST({0} AS HUGEINT) END",
        fn.UrlHostname: "nullif(regexp_extract(translate({}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'), {}, 1), '')",
        fn.TextPrefix: "substring({}, 1, {})",
        fn.TextContains: "contains({}, {})",
        fn.TextStartsWith: "starts_with({}, {})",
        fn.TextEndsWith: "suffix({}, {})",
    },
)
