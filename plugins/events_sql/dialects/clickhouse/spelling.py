"""ClickHouse's spelling of statements and constructs, as a compile-only dialect.

Parameters are ``{name:Type}``, which the server itself binds. What a join or an aggregate leaves
empty is NULL by the settings every statement runs with (`backend`).
"""

import re
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import GenericTypeCompiler, SQLCompiler

from plugins.events_sql import functions as fn
from plugins.events_sql.tables import Number

TYPES: Final[tuple[tuple[type[Any], str], ...]] = (
    (sa.ARRAY, "Array({})"),
    (Number, "Int128"),
    (sa.Boolean, "Bool"),
    (sa.Integer, "Int64"),
    (sa.DateTime, "DateTime64(6, 'UTC')"),
    (sa.Uuid, "UUID"),
    (sa.Numeric, "Int128"),
    (sa.Double, "Float64"),
    (sa.String, "String"),
)
"""Types by the first class that fits; wide whole numbers are the only NUMERIC."""

STEP: Final = "\n;\n"
"""What stands between the statements of one question.

In one statement the analyzer would work through a common table once for every mention of it, and
through those it mentions once for each of these: seconds before a row is read.
"""

KEPT: Final = "CREATE OR REPLACE TEMPORARY TABLE "
"""Before the name and the text of a table that the session keeps; such tables lie in memory."""


def named(declared: Any) -> str:
    """A type without NULL."""
    spelled = next((name for kind, name in TYPES if isinstance(declared, kind)), "String")
    return spelled.format(named(declared.item_type)) if isinstance(declared, sa.ARRAY) else spelled


class _Types(GenericTypeCompiler):
    def process(self, type_: Any, **_: Any) -> str:
        """Anything that is cast may be NULL, save a list."""
        return named(type_) if isinstance(type_, sa.ARRAY) else f"Nullable({named(type_)})"


class _Compiler(SQLCompiler):
    """Functions that have another name, parameters with types, and truths that are no numbers."""

    def bindparam_string(self, name: str, *_: Any, **options: Any) -> str:
        """A parameter that the server binds."""
        return f"{{{name}:{named(options.get('bindparam_type'))}}}"

    def visit_label(self, label: Any, *args: Any, **options: Any) -> str:
        """Comparisons give 0 or 1: what is selected as a truth becomes one."""
        if isinstance(label.type, sa.Boolean) and options.get("within_columns_clause"):
            label = sa.cast(label.element, sa.Boolean).label(label.name)
        return super().visit_label(label, *args, **options)  # type: ignore[no-untyped-call, no-any-return]

    def _render_cte_clause(self, nesting_level: Any = None, *_: Any, **__: Any) -> str:
        """What several parts of a statement read is worked out first, each into a table of the session."""
        if self.ctes is None or (nesting_level and nesting_level > 1):
            return ""
        return "".join(f"{KEPT}{name_and_text}{STEP}" for name_and_text in self.ctes.values())

    def after_steps(self, text: str) -> str:
        """Steps of a source, each under a name that no other source has."""
        if STEP not in text:
            return text
        if self.ctes is None:
            self._init_cte_state()
        kept: Any = self.ctes
        *steps, last = (one.removeprefix(KEPT) for one in text.split(STEP))
        names = {step.partition(" ")[0]: f"step_{len(kept) + place}" for place, step in enumerate(steps)}
        named_step = re.compile(rf"\b({'|'.join(names)})\b")
        *steps, last = (named_step.sub(lambda found: names[found[0]], one) for one in (*steps, last))
        kept.update(zip(names.values(), steps, strict=True))
        return last

    def limit_clause(self, select: Any, **options: Any) -> str:
        """An offset may stand alone; a limit of -1, as others write it, would be the last row."""
        spelled: str = super().limit_clause(select, **options)  # type: ignore[no-untyped-call]
        return spelled.replace("LIMIT -1 OFFSET", "OFFSET")

    def visit_cast(self, cast: Any, **options: Any) -> str:
        """Instants are read from texts as other machines write them."""
        if isinstance(cast.type, sa.DateTime):
            return f"parseDateTime64BestEffortOrNull({self.process(cast.clause, **options)}, 6, 'UTC')"
        return super().visit_cast(cast, **options)  # type: ignore[no-untyped-call, no-any-return]

    def visit_column(self, column: Any, *args: Any, **options: Any) -> str:
        """A column keeps its name, also where two tables of a join have one of that name."""
        selected = options.get("within_columns_clause") and not options.get("within_label_clause")
        selected = selected and not column.is_literal
        spelled: str = super().visit_column(column, *args, **options)
        return f"{spelled} AS {spelled.rpartition('.')[2]}" if selected else spelled

    def visit_case(self, clause: Any, **options: Any) -> str:
        """A list is never absent: without another choice it is empty."""
        spelled: str = super().visit_case(clause, **options)  # type: ignore[no-untyped-call]
        is_open = isinstance(clause.type, sa.ARRAY) and clause.else_ is None
        return f"{spelled.removesuffix('END')}ELSE [] END" if is_open else spelled

    def visit_lag_func(self, function: Any, **options: Any) -> str:
        """The value of the row before; NULL for the first."""
        return f"lag({self._absent(function, **options)})"

    def visit_lead_func(self, function: Any, **options: Any) -> str:
        """The value of the next row; NULL for the last."""
        return f"lead({self._absent(function, **options)})"

    def _absent(self, function: Any, **options: Any) -> str:
        """The argument of a function that gives nothing at an end, which a list says by being empty."""
        (value,) = function.clauses
        spelled: str = self.process(value, **options)
        return spelled if isinstance(value.type, sa.ARRAY) else f"toNullable({spelled})"

    def visit_abs_func(self, function: Any, **options: Any) -> str:
        """A number with a sign, as it was."""
        return f"toInt64(abs{self.function_argspec(function, **options)})"

    def visit_lower_func(self, function: Any, **options: Any) -> str:
        """Letters of every script, those first that it would not see each by itself (`predicates.uncased`)."""
        return f"lowerUTF8(translateUTF8({self.process(function.clauses, **options)}, 'Σİ', 'σi'))"  # noqa: RUF001 - it is a sigma

    def visit_bool_or_func(self, function: Any, **options: Any) -> str:
        """True when any is."""
        return f"max{self.function_argspec(function, **options)}"

    def visit_bool_and_func(self, function: Any, **options: Any) -> str:
        """True when all are."""
        return f"min{self.function_argspec(function, **options)}"


class ClickHouseDialect(DefaultDialect):
    """Statements for ClickHouse; no driver, no pool."""

    name = "clickhouse"
    supports_statement_cache = True
    supports_native_boolean = True
    div_is_floordiv = False
    statement_compiler = _Compiler
    type_compiler_cls = _Types
    max_identifier_length = 200

    def __init__(self) -> None:
        super().__init__(paramstyle="named")


_KIND: Final = "JSONType({0}, {1})"
_RAW: Final = "nullIf(nullIf(JSONExtractRaw({}), ''), 'null')"


def _latest(value: str, at: str, seq: str, *met: str) -> str:
    found = f"argMax({value}, tuple({at}, {seq}))"
    return f"{found} FILTER (WHERE {met[0]})" if met else found


def _said_mail(document: str) -> str:
    places = (f"{document}, 'traits', 'email'", f"{document}, 'email'")
    return f"coalesce({', '.join(_RAW.format(place) for place in places)})"


def _list(document: str, *keys: str) -> str:
    lists = (
        f"JSONType({document}, {key}) = 'Array' AND JSONLength({document}, {key}) > 0,"
        f" CAST(JSONExtractRaw({document}, {key}) AS Nullable(String))"
        for key in keys
    )
    return f"multiIf({', '.join(lists)}, NULL)"


fn.spell(
    ClickHouseDialect.name,
    {
        fn.Skips: "true",
        fn.Implied: "({})",
        fn.Beside: "({0})",
        fn.Micros: "toUnixTimestamp64Micro({})",
        fn.Quotient: "intDiv({}, {})",
        fn.WideQuotient: "intDiv({}, {})",
        fn.Whole: "toInt64(coalesce({}, 0))",
        fn.Huge: "toInt128({})",
        fn.Rounded: "round({}, 6)",
        fn.Position: "(toInt128(toUnixTimestamp64Micro({})) * 9223372036854775808 + {})",
        fn.JsonSet: _RAW.format("{}, {}"),
        fn.JsonScalar: (
            f"multiIf({_KIND} = 'String', CAST(JSONExtractString({{0}}, {{1}}) AS Nullable(String)),"
            f" {_KIND} IN ('Array', 'Object', 'Null'), NULL, JSONExtractRaw({{0}}, {{1}}))"
        ),
        fn.JsonIsBoolean: f"if({_KIND} = 'Null', NULL, {_KIND} = 'Bool')",
        fn.JsonString: f"if({_KIND} = 'String', JSONExtractString({{0}}, {{1}}), NULL)",
        fn.SaidMail: _said_mail,
        fn.MailDigest: "lower(hex(SHA256(translate({}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'))))",
        fn.JsonText: "if(JSONType({0}) = 'String', trim(BOTH ' ' FROM JSONExtractString({0})), NULL)",
        fn.JsonKeys: "arrayJoin(JSONExtractKeys(assumeNotNull({})))",
        fn.JsonMember: "JSONExtractRaw({}, {})",
        fn.JsonList: _list,
        fn.JsonOne: "concat('[', {}, ']')",
        fn.JsonElements: "arrayJoin(JSONExtractArrayRaw(assumeNotNull({})))",
        fn.JsonKind: "upper(toString(JSONType({})))",
        fn.Row: lambda *texts: f"CAST([{', '.join(texts)}] AS Array(Nullable(String)))",
        fn.Only: "({})[1]",
        fn.At: "({})[{}]",
        fn.Each: "arrayJoin({})",
        fn.Listed: "({} IN {})",
        fn.Overlaps: "hasAny({}, {})",
        fn.SortedUnion: "arraySort(arrayDistinct(arrayConcat({}, {})))",
        fn.Latest: _latest,
        fn.Earliest: "argMin({}, tuple({}, {}))",
        fn.InOrder: "arrayMap(x -> x.3, arraySort(x -> (x.1, x.2), groupArray(tuple({1}, {2}, {0}))))",
        fn.List: "groupArray({})",
        fn.DistinctList: "groupUniqArray({})",
        fn.SortedList: "arraySort(groupUniqArray({}) FILTER (WHERE {}))",
        fn.Median: "quantileExactInclusive(0.5)({}) FILTER (WHERE {})",
        fn.Spelled: "if(match({0}, {1}), toFloat64OrNull({0}), NULL)",
        fn.Has: "(position({}, {}) > 0)",
        fn.Starts: "startsWith({}, {})",
        fn.Ends: "endsWith({}, {})",
    },
)
