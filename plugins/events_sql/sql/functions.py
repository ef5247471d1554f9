"""Portable SQL functions: one element per function, compiled to the syntax of each engine."""

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

SqlTemplate = str | Callable[..., str]
"""Template of a function in a dialect: a format string of its arguments, or a Python function of them."""


class _PortableFunction(FunctionElement[Any]):
    inherit_cache = True

    def __init_subclass__(cls, **options: Any) -> None:
        """Makes statements with the function cacheable; SQLAlchemy asks each class, not its bases."""
        cls.inherit_cache = True
        super().__init_subclass__(**options)


class _IntegerFunction(_PortableFunction):
    type = sa.BigInteger()


class _WideFunction(_PortableFunction):
    type = sa.Numeric(38, 0)


class _FloatFunction(_PortableFunction):
    type = sa.Double()


class _BooleanFunction(_PortableFunction):
    type = sa.Boolean()


class _TextFunction(_PortableFunction):
    type = sa.Text()


class _ArrayFunction(_PortableFunction):
    type = sa.ARRAY(sa.Text)


class EpochMicroseconds(_IntegerFunction):
    """Microseconds since 1970 of a timestamp."""


class PruningHint(_BooleanFunction):
    """A condition that all relevant rows meet, written only for engines that read fewer rows because of it."""


class RedundantCondition(_BooleanFunction):
    """A condition implied by the others, written only for engines that sort their rows by its columns."""


class UnindexedCondition(_BooleanFunction):
    """A condition next to one on a text column.

    The text column is the second argument. DuckDB uses its index only where no other condition has one column.
    """


class IntegerDivide(_IntegerFunction):
    """Integer division of two positive integers."""


class WideIntegerDivide(_WideFunction):
    """Integer division of a positive `WideInteger` by a positive integer."""


class IntegerOrZero(_IntegerFunction):
    """A sum or count as an integer; 0 for NULL. Sums of the largest amounts exceed 64 bits."""


class Summand(_IntegerFunction):
    """A 64-bit integer to sum, in an engine whose sum would overflow, as a wider one."""


class JsonPath(_TextFunction):
    """A path inside JSON: a JSON pointer, then the same keys one by one, because engines use one or the other."""


class JsonScalar(_TextFunction):
    """The string, number or boolean at a path as text; NULL for anything else."""


class JsonIsSet(_TextFunction):
    """A value that is NULL when a path does not exist or is JSON null."""


class JsonIsBoolean(_BooleanFunction):
    """Whether the value at a path is a boolean; NULL when the path does not exist."""


class JsonString(_TextFunction):
    """The string at a top-level key; NULL for anything else."""


class JsonKeys(_TextFunction):
    """The top-level keys of a JSON object, one row each."""


class JsonMember(_TextFunction):
    """The JSON text at a top-level key that is given as a column."""


class JsonList(_TextFunction):
    """The first of several top-level keys whose value is a non-empty list; NULL without one."""


class JsonSingletonList(_TextFunction):
    """A JSON list with one element."""


class JsonElements(_TextFunction):
    """The elements of a JSON list, one row each."""


class JsonType(_TextFunction):
    """The engine's name of the type of a JSON text, in capitals."""


class WideInteger(_WideFunction):
    """An integer wide enough for the product of two 64-bit integers."""


class EventPosition(_WideFunction):
    """The position of an event in the order of all events: timestamp and sequence number as one integer."""


class TupleKey(_ArrayFunction):
    """Several texts as one value that can be compared, NULLs included."""


class IdentifyEmail(_TextFunction):
    """The e-mail of an `$identify` event as JSON, from its traits or its top level; NULL without one."""


class EmailDigest(_TextFunction):
    """The hexadecimal digest of an e-mail, independent of the case of ASCII letters."""


class JsonText(_TextFunction):
    """A JSON string without quotes and outer blanks; NULL for anything else."""


class SingleElement(_TextFunction):
    """The only element of an array."""


class LatestBy(_TextFunction):
    """A value of the latest row of a group: value, timestamp, sequence number and an optional filter."""


class EarliestBy(_TextFunction):
    """A value of the earliest row of a group: value, timestamp, sequence number and an optional filter."""


class SortedArrayAgg(_ArrayFunction):
    """The sorted distinct texts of the rows of a group that meet the second argument; an empty array for none."""


class SortedArrayUnion(_ArrayFunction):
    """The sorted distinct texts of two arrays."""


class Unnest(_IntegerFunction):
    """The elements of an array, one row each."""


class ElementAt(_IntegerFunction):
    """The element of an integer array at an index, counted from 1."""


class InArray(_BooleanFunction):
    """Whether a value is an element of an array that is one parameter."""


class Median(_FloatFunction):
    """The median of the numbers of a group that meet the second argument."""


class Rounded(_FloatFunction):
    """A number rounded to six decimal places."""


class OrderedArrayAgg(_ArrayFunction):
    """The first argument of all rows of a group as an array, ordered by the others."""


class ArrayAgg(_ArrayFunction):
    """The values of a group as an array."""


class DistinctArrayAgg(_ArrayFunction):
    """The distinct values of a group as an array; several times as expensive as `ArrayAgg`."""


class TryCastNumber(_FloatFunction):
    """The number that a text represents by a pattern; NULL for other texts."""


class TryCastWholeNumber(_WideFunction):
    """The exact whole number that a text represents by a pattern; NULL for other texts."""


class UrlHostname(_TextFunction):
    """The host of an address by a pattern for small ASCII letters; NULL without one."""


class TextPrefix(_TextFunction):
    """The first characters of a text, as many as the second argument says."""


class TextContains(_BooleanFunction):
    """Whether a text contains another one, case-sensitive."""


class TextStartsWith(_BooleanFunction):
    """Whether a text starts with another one."""


class TextEndsWith(_BooleanFunction):
    """Whether a text ends with another one."""


class InValues(_BooleanFunction):
    """Whether the first expression equals one of the others."""


class ArraysOverlap(_BooleanFunction):
    """Whether two arrays of texts have a common element."""


def compile_arguments(element: FunctionElement[Any], compiler: SQLCompiler, **options: Any) -> list[str]:
    """Returns the compiled arguments of a function."""
    return [compiler.process(clause, **options) for clause in element.clauses]


def register_compilations(dialect: str, templates: Mapping[type[FunctionElement[Any]], SqlTemplate]) -> None:
    """Registers the syntax of functions in a dialect."""
    for construct, spelling in templates.items():
        compiles(construct, dialect)(_compiler_for_template(spelling))


def _compiler_for_template(template: SqlTemplate) -> Callable[..., str]:
    if isinstance(template, str) and "{" not in template:
        return lambda *_, **__: template  # arguments that are not rendered bind no parameters
    write = template.format if isinstance(template, str) else template

    def compiled(element: FunctionElement[Any], compiler: SQLCompiler, **options: Any) -> str:
        return write(*compile_arguments(element, compiler, **options))

    return compiled


@compiles(JsonPath)
def _compile_json_path(element: JsonPath, compiler: SQLCompiler, **options: Any) -> str:
    return ", ".join(compiler.process(clause, **options) for clause in list(element.clauses)[1:])


@compiles(InValues)
def _compile_in_values(element: InValues, compiler: SQLCompiler, **options: Any) -> str:
    first, *others = compile_arguments(element, compiler, **options)
    return f"{first} IN ({', '.join(others)})" if others else "FALSE"
