"""Parameters and bodies by the rules of the contract (2.6)."""

import json
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import AliasChoices, Field, model_validator

from service_core.kernel.errors import BadRequest
from service_core.kernel.request_parsing import parse_body_strictly, parse_query_parameters_leniently
from service_core.kernel.schemas import BodyModel, Clamp, QueryModel


class Size(StrEnum):
    AUTO = "auto"
    DAY = "day"


class Query(QueryModel):
    limit: Annotated[int, Clamp(1, 100)] = 20
    share: Annotated[float, Clamp(0, 1)] | None = None
    size: Size = Field(default=Size.AUTO, validation_alias=AliasChoices("aggregation", "interval"))
    include_bots: bool = False
    steps: tuple[str, ...] = ()
    country: str | None = None


class Card(BodyModel):
    report_id: UUID
    size: Size | None = None


class Layout(BodyModel):
    cards: tuple[Card, ...] = ()


class Body(BodyModel):
    name: str
    layout: Layout | None = None
    limit: Annotated[int, Clamp(1, 100)] = 20


class UnionBody(BodyModel):
    shape: bool | Layout = False


def parse_query(*pairs):
    return parse_query_parameters_leniently(Query, pairs)


def parse_json_body(value):
    return parse_body_strictly(Body, json.dumps(value).encode(), value)


def parameter_error(read, *args):
    with pytest.raises(BadRequest) as caught:
        read(*args)
    return caught.value.code, caught.value.field


@given(st.integers())
def test_number_out_of_bounds_is_clamped_and_never_refused(number):
    assert parse_query(("limit", str(number))).limit == max(1, min(100, number))


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9))
def test_fraction_is_clamped_too(number):
    assert 0 <= parse_query(("share", str(number))).share <= 1


@pytest.mark.parametrize("text", ["abc", "5.5", "1e3", "nan", "1_000", "\u0665", "0x10", "9" * 5000])
def test_query_number_that_does_not_parse_takes_the_default(text):
    assert parse_query(("limit", text)).limit == 20


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e", "--1"])
def test_query_fraction_that_does_not_parse_takes_the_default(text):
    assert parse_query(("share", text)).share is None


def test_empty_string_counts_as_absent():
    assert parse_query(("limit", ""), ("country", ""), ("aggregation", ""), ("include_bots", "")) == Query()


def test_unknown_query_parameters_are_ignored():
    assert parse_query(("workspace_id", "x"), ("utm", "y")) == Query()


def test_last_of_a_repeated_scalar_counts():
    assert parse_query(("limit", "5"), ("limit", "7"), ("country", "DE"), ("country", "FR")) == Query(
        limit=7, country="FR"
    )
    assert parse_query(("limit", "5"), ("limit", "x")).limit == 20


def test_list_parameter_collects_its_repeats():
    assert parse_query(("steps", "a"), ("steps", ""), ("steps", "b")).steps == ("a", "b")


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("false", False), ("0", False)])
def test_query_booleans(text, value):
    assert parse_query(("include_bots", text)).include_bots is value


def test_boolean_or_enum_value_that_is_not_listed_is_refused_with_its_field():
    assert parameter_error(parse_query, ("include_bots", "yes")) == ("invalid_parameter", "include_bots")
    assert parameter_error(parse_query, ("interval", "decade")) == ("invalid_parameter", "interval")


def test_parameter_is_read_by_its_aliases():
    assert parse_query(("interval", "day")).size is Size.DAY
    assert parse_query(("aggregation", "day")).size is Size.DAY


@given(st.lists(st.tuples(st.sampled_from(["limit", "share", "steps", "country"]), st.text())))
@example([("limit", "7\x1f"), ("share", "\x1c0.5")])  # spaces to some readers of numbers, and not to others
def test_any_text_is_read_as_a_number_a_list_or_a_string(pairs):
    found = parse_query(*pairs)
    assert 1 <= found.limit <= 100
    assert found.share is None or 0 <= found.share <= 1
    assert "\0" not in (found.country or "") + "".join(found.steps)


def test_bounds_of_a_number_are_in_the_schema():
    assert Query.model_json_schema()["properties"]["limit"] == {
        "default": 20, "minimum": 1, "maximum": 100, "title": "Limit", "type": "integer",
    }  # fmt: skip


@pytest.mark.parametrize("value", [[], "x", 1, None])
def test_body_that_is_no_object_is_invalid_json(value):
    assert parameter_error(parse_json_body, value) == ("invalid_json", None)


def test_unknown_property_is_refused_with_its_path():
    card = {"report_id": "0197c1d0-0000-7000-8000-000000000000"}
    assert parameter_error(parse_json_body, {"name": "a", "extra": 1}) == ("unknown_field", "extra")
    nested = {"name": "a", "layout": {"cards": [card, card | {"colour": "red"}]}}
    assert parameter_error(parse_json_body, nested) == ("unknown_field", "layout.cards[1].colour")


def test_missing_property_is_refused_with_its_path():
    assert parameter_error(parse_json_body, {}) == ("missing_field", "name")
    assert parameter_error(parse_json_body, {"name": "a", "layout": {"cards": [{}]}}) == (
        "missing_field",
        "layout.cards[0].report_id",
    )


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"name": 5}, "name"),
        ({"name": "a", "limit": "5"}, "limit"),
        ({"name": "a", "limit": True}, "limit"),
        ({"name": "a", "layout": []}, "layout"),
        ({"name": "a", "layout": {"cards": [{"report_id": "x"}]}}, "layout.cards[0].report_id"),
        ({"name": "a", "layout": {"cards": {}}}, "layout.cards"),
    ],
)
def test_wrong_type_is_refused_with_its_path(value, field):
    assert parameter_error(parse_json_body, value) == ("invalid_parameter", field)


@pytest.mark.parametrize(
    ("shape", "code", "field"),
    [
        (1, "invalid_parameter", "shape"),
        ({"colour": "red"}, "unknown_field", "shape.colour"),
        ({"cards": [{}]}, "missing_field", "shape.cards[0].report_id"),
        ({"cards": [{"report_id": 5}]}, "invalid_parameter", "shape.cards[0].report_id"),
    ],
)
def test_union_field_reports_the_error_of_the_closest_type(shape, code, field):
    value = {"shape": shape}
    assert parameter_error(parse_body_strictly, UnionBody, json.dumps(value).encode(), value) == (code, field)


def test_body_numbers_are_clamped():
    assert parse_json_body({"name": "a", "limit": 5000}).limit == 100


def test_error_message_does_not_contain_the_value():
    with pytest.raises(BadRequest) as caught:
        parse_json_body({"name": {"secret": "dk_agent_abc"}})
    assert "dk_agent" not in str(caught.value.body())


def test_model_can_set_the_error_code():
    class Strict(QueryModel):
        q: str = ""

        @model_validator(mode="after")
        def needs_q(self):
            if not self.q.strip():
                raise BadRequest("q is required", "missing_query")
            return self

    assert parameter_error(parse_query_parameters_leniently, Strict, []) == ("missing_query", None)
