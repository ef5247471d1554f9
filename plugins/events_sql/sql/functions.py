"""Portable SQL functions: one element per function, compiled to the syntax of each engine.

Every class sets ``inherit_cache``; without it SQLAlchemy compiles statements that use it anew each time.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement, GenericFunction

SqlTemplate = str | Callable[..., str]
"""How a function is written in a dialect: a format string of its arguments, or a Python function of them."""


class EpochMicroseconds(FunctionElement[int]):
    """Microseconds since 1970 of a timestamp."""

    inherit_cache = True
    type = sa.BigInteger()


class PruningHint(FunctionElement[bool]):
    """A condition that all relevant rows meet, written only for engines that read fewer rows because of it."""

    inherit_cache = True
    type = sa.Boolean()


class RedundantCondition(FunctionElement[bool]):
    """A condition implied by the others, written only for engines that sort their rows by its columns."""

    inherit_cache = True
    type = sa.Boolean()


class UnindexedCondition(FunctionElement[bool]):
    """A condition next to one on a text column.

    The text column is the second argument. DuckDB uses its index only where no other condition has one column.
    """

    inherit_cache = True
    type = sa.Boolean()


class IntegerDivide(FunctionElement[int]):
    """Integer division of two positive integers."""

    inherit_cache = True
    type = sa.BigInteger()


class WideIntegerDivide(FunctionElement[Decimal]):
    """Integer division of a positive `WideInteger` by a positive integer."""

    inherit_cache = True
    type = sa.Numeric(38, 0)


class BigIntOrZero(FunctionElement[int]):
    """A sum or count as a 64-bit integer; 0 for NULL."""

    inherit_cache = True
    type = sa.BigInteger()


class JsonPath(FunctionElement[str]):
    """A path inside JSON: a JSON pointer, then the same keys one by one, because engines use one or the other."""

    inherit_cache = True
    type = sa.Text()


class JsonScalar(FunctionElement[str]):
    """The string, number or boolean at a path as text; NULL for anything else."""

    inherit_cache = True
    type = sa.Text()


class JsonIsSet(FunctionElement[str]):
    """A value that is NULL when a path does not exist or is JSON null."""

    inherit_cache = True
    type = sa.Text()


class JsonIsBoolean(FunctionElement[bool]):
    """Whether the value at a path is a boolean; NULL when the path does not exist."""

    inherit_cache = True
    type = sa.Boolean()


class JsonString(FunctionElement[str]):
    """The string at a top-level key; NULL for anything else."""

    inherit_cache = True
    type = sa.Text()


class JsonKeys(FunctionElement[str]):
    """The top-level keys of a JSON object, one row each."""

    inherit_cache = True
    type = sa.Text()


class JsonMember(FunctionElement[str]):
    """The JSON text at a top-level key that is given as a column."""

    inherit_cache = True
    type = sa.Text()


class JsonList(FunctionElement[str]):
    """The first of several top-level keys whose value is a non-empty list; NULL without one."""

    inherit_cache = True
    type = sa.Text()


class JsonSingletonList(FunctionElement[str]):
    """A JSON list with one element."""

    inherit_cache = True
    type = sa.Text()


class JsonElements(FunctionElement[str]):
    """The elements of a JSON list, one row each."""

    inherit_cache = True
    type = sa.Text()


class JsonType(FunctionElement[str]):
    """The engine's name of the type of a JSON text, in capitals."""

    inherit_cache = True
    type = sa.Text()


class WideInteger(FunctionElement[Decimal]):
    """An integer wide enough for the product of two 64-bit integers."""

    inherit_cache = True
    type = sa.Numeric(38, 0)


class EventPosition(FunctionElement[Decimal]):
    """The position of an event in the order of all events: timestamp and sequence number as one integer."""

    inherit_cache = True
    type = sa.Numeric(38, 0)


class TupleKey(FunctionElement[Any]):
    """Several texts as one value that can be compared, NULLs included."""

    inherit_cache = True
    type = sa.ARRAY(sa.Text)


class IdentifyEmail(FunctionElement[str]):
    """The e-mail of an `$identify` event as JSON, from its traits or its top level; NULL without one."""

    inherit_cache = True
    type = sa.Text()


class EmailDigest(FunctionElement[str]):
    """The hexadecimal digest of an e-mail, independent of the case of ASCII letters."""

    inherit_cache = True
    type = sa.Text()


class JsonText(FunctionElement[str]):
    """A JSON string without quotes and outer blanks; NULL for anything else."""

    inherit_cache = True
    type = sa.Text()


class SingleElement(FunctionElement[Any]):
    """The only element of an array."""

    inherit_cache = True
    type = sa.Text()


class LatestBy(FunctionElement[Any]):
    """A value of the latest row of a group: value, timestamp, sequence number and an optional filter."""

    inherit_cache = True
    type = sa.Text()


class EarliestBy(FunctionElement[Any]):
    """A value of the earliest row of a group: value, timestamp, sequence number."""

    inherit_cache = True
    type = sa.Text()


class SortedArrayAgg(FunctionElement[Any]):
    """The sorted distinct texts of the rows of a group that meet the second argument; an empty array for none."""

    inherit_cache = True
    type = sa.ARRAY(sa.Text)


class SortedArrayUnion(FunctionElement[Any]):
    """The sorted distinct texts of two arrays."""

    inherit_cache = True
    type = sa.ARRAY(sa.Text)


class Unnest(FunctionElement[Any]):
    """The elements of an array, one row each."""

    inherit_cache = True
    type = sa.BigInteger()


class ElementAt(FunctionElement[Any]):
    """The element of an integer array at an index, counted from 1."""

    inherit_cache = True
    type = sa.BigInteger()


class InArray(FunctionElement[bool]):
    """Whether a value is an element of an array that is one parameter."""

    inherit_cache = True
    type = sa.Boolean()


class Median(FunctionElement[float]):
    """The median of the numbers of a group that meet the second argument."""

    inherit_cache = True
    type = sa.Double()


class Rounded(FunctionElement[float]):
    """A number rounded to six decimal places."""

    inherit_cache = True
    type = sa.Double()


class OrderedArrayAgg(GenericFunction[Any]):
    """The first argument of all rows of a group as an array, ordered by the others."""

    inherit_cache = True
    type = sa.ARRAY(sa.Text)


class ArrayAgg(GenericFunction[Any]):
    """The values of a group as an array."""

    inherit_cache = True
    type = sa.ARRAY(sa.Text)


class DistinctArrayAgg(GenericFunction[Any]):
    """The distinct values of a group as an array; several times as expensive as `ArrayAgg`."""

    inherit_cache = True
    type = sa.ARRAY(sa.Text)


class TryCastNumber(FunctionElement[float]):
    """The number that a text represents by a pattern; NULL for other texts."""

    inherit_cache = True
    type = sa.Double()


class TextContains(FunctionElement[bool]):
    """Whether a text contains another one, case-sensitive."""

    inherit_cache = True
    type = sa.Boolean()


class TextStartsWith(FunctionElement[bool]):
    """Whether a text starts with another one."""

    inherit_cache = True
    type = sa.Boolean()


class TextEndsWith(FunctionElement[bool]):
    """Whether a text ends with another one."""

    inherit_cache = True
    type = sa.Boolean()


class InValues(FunctionElement[bool]):
    """Whether the first expression equals one of the others."""

    inherit_cache = True
    type = sa.Boolean()


class ArraysOverlap(FunctionElement[bool]):
    """Whether two arrays of texts have a common element."""

    inherit_cache = True
    type = sa.Boolean()


def compile_arguments(element: FunctionElement[Any], compiler: SQLCompiler, **options: Any) -> list[str]:
    """Returns the compiled arguments of a function."""
    return [compiler.process(clause, **options) for clause in element.clauses]


def register_compilations(dialect: str, spellings: Mapping[type[FunctionElement[Any]], SqlTemplate]) -> None:
    """Registers the syntax of functions in a dialect."""
    for construct, spelling in spellings.items():
        compiles(construct, dialect)(_compile_function(spelling))


def _compile_function(spelling: SqlTemplate) -> Callable[..., str]:
    if isinstance(spelling, str) and "{" not in spelling:
        return lambda *_, **__: spelling  # and nothing is bound that is not said
    write = spelling.format if isinstance(spelling, str) else spelling

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
