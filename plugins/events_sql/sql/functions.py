"""What no dialect of SQLAlchemy says the same way: one small construct each, compiled per engine.

Every construct sets its own ``inherit_cache``; without it the text of a statement is compiled anew
each time, silently.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement, GenericFunction

SqlTemplate = str | Callable[..., str]
"""How a construct is written: a template of its arguments, or a function of them."""


class EpochMicroseconds(FunctionElement[int]):
    """Microseconds since 1970 of a timestamp."""

    inherit_cache = True
    type = sa.BigInteger()


class PruningHint(FunctionElement[bool]):
    """A condition that every row meets that matters: an engine that reads less by it says it, others do not."""

    inherit_cache = True
    type = sa.Boolean()


class RedundantCondition(FunctionElement[bool]):
    """A condition that follows from the others: an engine that sorts its rows by it says it, others do not."""

    inherit_cache = True
    type = sa.Boolean()


class UnindexedCondition(FunctionElement[bool]):
    """A condition beside one on a text, which is given too: DuckDB uses an index only where one column is asked for."""

    inherit_cache = True
    type = sa.Boolean()


class IntegerDivide(FunctionElement[int]):
    """Integer division of two whole numbers, both positive."""

    inherit_cache = True
    type = sa.BigInteger()


class WideIntegerDivide(FunctionElement[Decimal]):
    """Integer division of a `Huge` by a whole number, both positive."""

    inherit_cache = True
    type = sa.Numeric(38, 0)


class BigIntOrZero(FunctionElement[int]):
    """A sum or count as a 64-bit integer, 0 when nothing was summed."""

    inherit_cache = True
    type = sa.BigInteger()


class JsonPath(FunctionElement[str]):
    """A place inside JSON: a pointer, then the same key by key; engines want one or the other."""

    inherit_cache = True
    type = sa.Text()


class JsonScalar(FunctionElement[str]):
    """The string, number or boolean at a path as text; absent for anything else."""

    inherit_cache = True
    type = sa.Text()


class JsonIsSet(FunctionElement[str]):
    """Something that is NULL when a path leads to nothing or to null."""

    inherit_cache = True
    type = sa.Text()


class JsonIsBoolean(FunctionElement[bool]):
    """Whether true or false stands at a path; NULL when nothing does."""

    inherit_cache = True
    type = sa.Boolean()


class JsonString(FunctionElement[str]):
    """The string at a top-level key; absent for anything else."""

    inherit_cache = True
    type = sa.Text()


class JsonKeys(FunctionElement[str]):
    """The top-level keys of a JSON object, one row each."""

    inherit_cache = True
    type = sa.Text()


class JsonMember(FunctionElement[str]):
    """The JSON text at a top-level key that is itself a column."""

    inherit_cache = True
    type = sa.Text()


class JsonList(FunctionElement[str]):
    """The first of some top-level keys of a JSON object that is a list with something in it; else absent."""

    inherit_cache = True
    type = sa.Text()


class JsonSingletonList(FunctionElement[str]):
    """A JSON list of the one thing that is given."""

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
    """A whole number wide enough for products of two."""

    inherit_cache = True
    type = sa.Numeric(38, 0)


class EventPosition(FunctionElement[Decimal]):
    """The place of an event in the order of all: its instant, then its sequence, as one whole number."""

    inherit_cache = True
    type = sa.Numeric(38, 0)


class TupleKey(FunctionElement[Any]):
    """Several texts as one value that is equal when all are, absent ones included."""

    inherit_cache = True
    type = sa.ARRAY(sa.Text)


class IdentifyEmail(FunctionElement[str]):
    """The e-mail an `$identify` event says as JSON, in its traits or beside them; absent without one."""

    inherit_cache = True
    type = sa.Text()


class EmailDigest(FunctionElement[str]):
    """An e-mail as a digest in hexadecimal digits, whatever the case of its Latin letters."""

    inherit_cache = True
    type = sa.Text()


class JsonText(FunctionElement[str]):
    """A JSON string without quotes and outer blanks; absent for anything else."""

    inherit_cache = True
    type = sa.Text()


class SingleElement(FunctionElement[Any]):
    """The one element of a list."""

    inherit_cache = True
    type = sa.Text()


class LatestBy(FunctionElement[Any]):
    """A value of the latest event of a group: value, instant, sequence; of those that meet a fourth."""

    inherit_cache = True
    type = sa.Text()


class EarliestBy(FunctionElement[Any]):
    """A value of the earliest event of a group: value, instant, sequence."""

    inherit_cache = True
    type = sa.Text()


class SortedArrayAgg(FunctionElement[Any]):
    """The different texts of a group where a second argument is met, in order; an empty list without any."""

    inherit_cache = True
    type = sa.ARRAY(sa.Text)


class SortedArrayUnion(FunctionElement[Any]):
    """The different texts of two lists, in order."""

    inherit_cache = True
    type = sa.ARRAY(sa.Text)


class Unnest(FunctionElement[Any]):
    """The elements of a list, one row each."""

    inherit_cache = True
    type = sa.BigInteger()


class ElementAt(FunctionElement[Any]):
    """The element of a list of whole numbers at a place, the first at 1."""

    inherit_cache = True
    type = sa.BigInteger()


class InArray(FunctionElement[bool]):
    """Whether a value is an element of a list that is given as one parameter."""

    inherit_cache = True
    type = sa.Boolean()


class Median(FunctionElement[float]):
    """The middle of the numbers of a group where a second argument is met."""

    inherit_cache = True
    type = sa.Double()


class Rounded(FunctionElement[float]):
    """A number to six places."""

    inherit_cache = True
    type = sa.Double()


class OrderedArrayAgg(GenericFunction[Any]):
    """The first argument of all rows of a group as a list, ordered by the others."""

    inherit_cache = True
    type = sa.ARRAY(sa.Text)


class ArrayAgg(GenericFunction[Any]):
    """The values of a group as a list."""

    inherit_cache = True
    type = sa.ARRAY(sa.Text)


class DistinctArrayAgg(GenericFunction[Any]):
    """The different values of a group as a list, which costs several times as much."""

    inherit_cache = True
    type = sa.ARRAY(sa.Text)


class TryCastNumber(FunctionElement[float]):
    """The number a text spells by a pattern, else NULL."""

    inherit_cache = True
    type = sa.Double()


class TextContains(FunctionElement[bool]):
    """Whether a text contains another one, character for character."""

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
    """Whether two lists of texts have an element in common."""

    inherit_cache = True
    type = sa.Boolean()


def compile_arguments(element: FunctionElement[Any], compiler: SQLCompiler, **options: Any) -> list[str]:
    """The compiled arguments of a construct."""
    return [compiler.process(clause, **options) for clause in element.clauses]


def register_compilations(dialect: str, spellings: Mapping[type[FunctionElement[Any]], SqlTemplate]) -> None:
    """Say how a dialect writes constructs."""
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
