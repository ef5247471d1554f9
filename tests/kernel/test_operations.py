"""The declaration of an endpoint."""

from dataclasses import FrozenInstanceError
from typing import Protocol

import pytest

from service_core.kernel.operations import HandlerResponse, Operation, RateLimitClass, Scope, operation
from service_core.kernel.schemas import QueryModel, ResponseModel


class LimitQuery(QueryModel):
    limit: int = 1


class NumberResponse(ResponseModel):
    value: int


class CountStore(Protocol):
    async def count(self) -> int: ...


class FixedCountStore:
    async def count(self) -> int:
        return 3


@operation("GET /numbers", tag="numbers", errors=(422,))
async def get_numbers(query: LimitQuery, *, store: CountStore) -> NumberResponse:
    """Count what is there.

    As often as asked.
    """
    return NumberResponse(value=await store.count() * query.limit)


def test_operation_is_a_frozen_value_derived_from_its_handler():
    assert isinstance(get_numbers, Operation)
    assert (get_numbers.method, get_numbers.path, get_numbers.id) == ("GET", "/numbers", "get_numbers")
    assert (get_numbers.scope, get_numbers.rate_limit) == (Scope.READ, RateLimitClass.READ)
    assert (get_numbers.query, get_numbers.body, get_numbers.answer) == (LimitQuery, None, NumberResponse)
    assert get_numbers.dependencies == {"store": CountStore}
    assert (get_numbers.summary, get_numbers.description) == ("Count what is there.", "As often as asked.")
    with pytest.raises(FrozenInstanceError):
        get_numbers.path = "/other"


async def test_calling_an_operation_calls_its_handler():
    assert await get_numbers(LimitQuery(limit=2), store=FixedCountStore()) == NumberResponse(value=6)


def test_reply_type_declares_the_response_model():
    @operation("POST /numbers", tag="numbers", statuses=(202,))
    async def create_number() -> HandlerResponse[NumberResponse]:
        """Take a number."""
        return HandlerResponse(NumberResponse(value=1), 202)

    assert create_number.answer is NumberResponse
    assert create_number.statuses == (202,)


def test_handler_without_a_docstring_or_async_is_refused():
    async def bare():
        return None

    def sync():
        """Not async."""

    for handler in (bare, sync):
        with pytest.raises(TypeError, match="async def with a docstring"):
            operation("GET /x", tag="x")(handler)


def test_parameter_that_is_neither_input_nor_dependency_is_refused():
    async def stray(limit: int):
        """Take a stray parameter."""

    with pytest.raises(TypeError, match="dependencies are keyword-only"):
        operation("GET /x", tag="x")(stray)


def test_parameter_without_a_type_is_refused_by_name():
    async def untyped(*, caller):
        """Ask for somebody."""

    with pytest.raises(TypeError, match="untyped: parameter 'caller' needs a type annotation"):
        operation("GET /x", tag="x")(untyped)


def test_path_and_its_model_must_agree():
    async def pathless():
        """Forget the path."""

    with pytest.raises(TypeError, match="do not match"):
        operation("GET /x/{id}", tag="x")(pathless)
