"""The SQL compiler of ClickHouse, a SQLAlchemy dialect without driver.

Parameters are ``{name:Type}``, bound by the server. Missing values of joins and aggregates are NULL because of the
settings that every statement runs with (`backend`).
"""

import re
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import GenericTypeCompiler, SQLCompiler

from plugins.events_sql.schema.tables import IdNumber
from plugins.events_sql.sql import functions as fn

TYPE_NAMES: Final[tuple[tuple[type[Any], str], ...]] = (
    (sa.ARRAY, "Array({})"),
    (IdNumber, "Int128"),
    (sa.Boolean, "Bool"),
    (sa.Integer, "Int64"),
    (sa.DateTime, "DateTime64(6, 'UTC')"),
    (sa.Uuid, "UUID"),
    (sa.Numeric, "Int128"),
    (sa.Double, "Float64"),
    (sa.String, "String"),
)
"""Types by the first class that matches; wide integers are the only NUMERIC."""

STATEMENT_SEPARATOR: Final = "\n;\n"
"""Separates the statements of one text.

CTEs become temporary tables of statements before the main one: in a single statement the analyzer would process a
CTE again for each reference, and nested CTEs exponentially often, which takes seconds before any row is read.
"""

CREATE_TEMP_TABLE: Final = "CREATE OR REPLACE TEMPORARY TABLE "
"""The statement prefix of a temporary table; temporary tables are in memory."""


def type_name(declared: Any) -> str:
    """Returns the name of a type, not nullable."""
    spelled = next((name for kind, name in TYPE_NAMES if isinstance(declared, kind)), "String")
    return spelled.format(type_name(declared.item_type)) if isinstance(declared, sa.ARRAY) else spelled


class _Types(GenericTypeCompiler):
    def process(self, type_: Any, **_: Any) -> str:
        """Returns the nullable type of a CAST; arrays are never nullable."""
        return type_name(type_) if isinstance(type_, sa.ARRAY) else f"Nullable({type_name(type_)})"


class _Compiler(SQLCompiler):
    """Renders functions with other names, typed parameters and booleans."""

    def bindparam_string(self, name: str, *_: Any, **options: Any) -> str:
        """Returns a parameter that the server binds."""
        return f"{{{name}:{type_name(options.get('bindparam_type'))}}}"

    def visit_label(self, label: Any, *args: Any, **options: Any) -> str:
        """Casts selected comparisons to booleans, because they return 0 or 1."""
        if isinstance(label.type, sa.Boolean) and options.get("within_columns_clause"):
            label = sa.cast(label.element, sa.Boolean).label(label.name)
        return super().visit_label(label, *args, **options)  # type: ignore[no-untyped-call, no-any-return]

    def _render_cte_clause(self, nesting_level: Any = None, *_: Any, **__: Any) -> str:
        """Renders each CTE as a statement that creates a temporary table."""
        if self.ctes is None or (nesting_level and nesting_level > 1):
            return ""
        return "".join(
            f"{CREATE_TEMP_TABLE}{name_and_text}{STATEMENT_SEPARATOR}" for name_and_text in self.ctes.values()
        )

    def hoist_steps_into_statement(self, source_text: str) -> str:
        """Gives the steps of a source unique names and adds them to the statement; returns the main part of the source."""
        if STATEMENT_SEPARATOR not in source_text:
            return source_text
        if self.ctes is None:
            self._init_cte_state()
        ctes: Any = self.ctes
        *steps, last = (
            statement.removeprefix(CREATE_TEMP_TABLE) for statement in source_text.split(STATEMENT_SEPARATOR)
        )
        names = {step.partition(" ")[0]: f"step_{len(ctes) + place}" for place, step in enumerate(steps)}
        named_step = re.compile(rf"\b({'|'.join(names)})\b")
        *steps, last = (
            named_step.sub(lambda match: names[match[0]], statement) for statement in (*steps, last)
        )
        ctes.update(zip(names.values(), steps, strict=True))
        return last

    def limit_clause(self, select: Any, **options: Any) -> str:
        """Renders an OFFSET without LIMIT; the usual LIMIT -1 would count from the end."""
        spelled: str = super().limit_clause(select, **options)  # type: ignore[no-untyped-call]
        return spelled.replace("LIMIT -1 OFFSET", "OFFSET")

    def visit_cast(self, cast: Any, **options: Any) -> str:
        """Parses timestamps from texts in any common format."""
        if isinstance(cast.type, sa.DateTime):
            return f"parseDateTime64BestEffortOrNull({self.process(cast.clause, **options)}, 6, 'UTC')"
        return super().visit_cast(cast, **options)  # type: ignore[no-untyped-call, no-any-return]

    def visit_column(self, column: Any, *args: Any, **options: Any) -> str:
        """Aliases a selected column with its own name, also where two joined tables have a column of that name."""
        selected = options.get("within_columns_clause") and not options.get("within_label_clause")
        selected = selected and not column.is_literal
        spelled: str = super().visit_column(column, *args, **options)
        return f"{spelled} AS {spelled.rpartition('.')[2]}" if selected else spelled

    def visit_case(self, clause: Any, **options: Any) -> str:
        """Adds an empty array as ELSE of an array-valued CASE, because arrays are never NULL."""
        spelled: str = super().visit_case(clause, **options)  # type: ignore[no-untyped-call]
        is_open = isinstance(clause.type, sa.ARRAY) and clause.else_ is None
        return f"{spelled.removesuffix('END')}ELSE [] END" if is_open else spelled

    def visit_lag_func(self, function: Any, **options: Any) -> str:
        """Returns the value of the previous row; NULL for the first."""
        return f"lag({self._nullable_argument(function, **options)})"

    def visit_lead_func(self, function: Any, **options: Any) -> str:
        """Returns the value of the next row; NULL for the last."""
        return f"lead({self._nullable_argument(function, **options)})"

    def _nullable_argument(self, function: Any, **options: Any) -> str:
        """Returns the argument as a nullable value; arrays are empty instead of NULL."""
        (value,) = function.clauses
        spelled: str = self.process(value, **options)
        return spelled if isinstance(value.type, sa.ARRAY) else f"toNullable({spelled})"

    def visit_abs_func(self, function: Any, **options: Any) -> str:
        """Casts back to a signed integer."""
        return f"toInt64(abs{self.function_argspec(function, **options)})"

    def visit_lower_func(self, function: Any, **options: Any) -> str:
        """Returns lower case for all scripts, after replacing letters that ``lowerUTF8`` treats differently from the core."""
        return f"lowerUTF8(translateUTF8({self.process(function.clauses, **options)}, 'Σİ', 'σi'))"  # noqa: RUF001 - it is a sigma

    def visit_bool_or_func(self, function: Any, **options: Any) -> str:
        """Returns the maximum, as a boolean OR."""
        return f"max{self.function_argspec(function, **options)}"

    def visit_bool_and_func(self, function: Any, **options: Any) -> str:
        """Returns the minimum, as a boolean AND."""
        return f"min{self.function_argspec(function, **options)}"


class ClickHouseDialect(DefaultDialect):
    """Compiles statements for ClickHouse; has no driver and no connection pool."""

    name = "clickhouse"
    supports_statement_cache = True
    supports_native_boolean = True
    div_is_floordiv = False
    statement_compiler = _Compiler
    type_compiler_cls = _Types
    max_identifier_length = 200

    def __init__(self) -> None:
        super().__init__(paramstyle="named")


_JSON_TYPE: Final = "JSONType({0}, {1})"
_JSON_RAW: Final = "nullIf(nullIf(JSONExtractRaw({}), ''), 'null')"


def _latest_by(value: str, at: str, seq: str, *condition: str) -> str:
    text = f"argMax({value}, tuple({at}, {seq}))"
    return f"{text} FILTER (WHERE {condition[0]})" if condition else text


def _earliest_by(value: str, at: str, seq: str, *condition: str) -> str:
    text = f"argMin({value}, tuple({at}, {seq}))"
    return f"{text} FILTER (WHERE {condition[0]})" if condition else text


def _identify_email(document: str) -> str:
    places = (f"{document}, 'traits', 'email'", f"{document}, 'email'")
    return f"coalesce({', '.join(_JSON_RAW.format(place) for place in places)})"


def _first_nonempty_json_list(document: str, *keys: str) -> str:
    lists = (
        f"JSONType({document}, {key}) = 'Array' AND JSONLength({document}, {key}) > 0,"
        f" CAST(JSONExtractRaw({document}, {key}) AS Nullable(String))"
        for key in keys
    )
    return f"multiIf({', '.join(lists)}, NULL)"


fn.register_compilations(
    ClickHouseDialect.name,
    {
        fn.PruningHint: "true",
        fn.RedundantCondition: "({})",
        fn.UnindexedCondition: "({0})",
        fn.EpochMicroseconds: "toUnixTimestamp64Micro({})",
        fn.IntegerDivide: "intDiv({}, {})",
        fn.WideIntegerDivide: "intDiv({}, {})",
        fn.IntegerOrZero: "toInt128(coalesce({}, 0))",
        fn.Summand: "toInt128({})",
        fn.WideInteger: "toInt128({})",
        fn.Rounded: "round({}, 6)",
        fn.EventPosition: "(toInt128(toUnixTimestamp64Micro({})) * 9223372036854775808 + {})",
        fn.JsonIsSet: _JSON_RAW.format("{}, {}"),
        fn.JsonScalar: (
            f"multiIf({_JSON_TYPE} = 'String', CAST(JSONExtractString({{0}}, {{1}}) AS Nullable(String)),"
            f" {_JSON_TYPE} IN ('Array', 'Object', 'Null'), NULL, JSONExtractRaw({{0}}, {{1}}))"
        ),
        fn.JsonIsBoolean: f"if({_JSON_TYPE} = 'Null', NULL, {_JSON_TYPE} = 'Bool')",
        fn.JsonString: f"if({_JSON_TYPE} = 'String', JSONExtractString({{0}}, {{1}}), NULL)",
        fn.IdentifyEmail: _identify_email,
        fn.EmailDigest: "lower(hex(SHA256(translate({}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'))))",
        fn.JsonText: "if(JSONType({0}) = 'String', trim(BOTH ' ' FROM JSONExtractString({0})), NULL)",
        fn.JsonKeys: "arrayJoin(JSONExtractKeys(assumeNotNull({})))",
        fn.JsonMember: "JSONExtractRaw({}, {})",
        fn.JsonList: _first_nonempty_json_list,
        fn.JsonSingletonList: "concat('[', {}, ']')",
        fn.JsonElements: "arrayJoin(JSONExtractArrayRaw(assumeNotNull({})))",
        fn.JsonType: "upper(toString(JSONType({})))",
        fn.TupleKey: lambda *texts: f"CAST([{', '.join(texts)}] AS Array(Nullable(String)))",
        fn.SingleElement: "({})[1]",
        fn.ElementAt: "({})[{}]",
        fn.Unnest: "arrayJoin({})",
        fn.InArray: "({} IN {})",
        fn.ArraysOverlap: "hasAny({}, {})",
        fn.SortedArrayUnion: "arraySort(arrayDistinct(arrayConcat({}, {})))",
        fn.LatestBy: _latest_by,
        fn.EarliestBy: _earliest_by,
        fn.OrderedArrayAgg: "arrayMap(x -> x.3, arraySort(x -> (x.1, x.2), groupArray(tuple({1}, {2}, {0}))))",
        fn.ArrayAgg: "groupArray({})",
        fn.DistinctArrayAgg: "groupUniqArray({})",
        fn.SortedArrayAgg: "arraySort(groupUniqArray({}) FILTER (WHERE {}))",
        fn.Median: "quantileExactInclusive(0.5)({}) FILTER (WHERE {})",
        fn.TryCastNumber: "if(match({0}, {1}), toFloat64OrNull({0}), NULL)",
        fn.TryCastWholeNumber: "if(match({0}, {1}), toInt128OrNull({0}), NULL)",
        fn.UrlHostname: "nullIf(extract(translate({}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'), {}), '')",
        fn.TextPrefix: "substringUTF8({}, 1, {})",
        fn.TextContains: "(position({}, {}) > 0)",
        fn.TextStartsWith: "startsWith({}, {})",
        fn.TextEndsWith: "endsWith({}, {})",
    },
)
