"""Every null number of a read has a declared meaning; one that was not measured is named in ``unavailable``."""

from decimal import Decimal
from typing import Annotated, get_args, get_origin

import pytest
from pydantic import BaseModel

from service_core.api.openapi import build_openapi
from service_core.builtin import operations
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.null_reasons import (
    KNOWN_NULL,
    LISTED_BY_OPERATION,
    NOT_REPORTED,
    NULL_FIELD_REASONS,
    ListsNullReasons,
    NullReason,
    UnavailableMetric,
)
from service_core.kernel.operations import Operation, Scope
from service_core.kernel.schemas import ResponseModel
from tests.analytics.deployment import run_deployment

DAYS = {"start_date": "2026-07-01", "end_date": "2026-07-08"}
NUMBERS = {int, float, Decimal}

READS = [
    operation
    for operation in operations()
    if operation.scope is Scope.READ
    and (operation.method == "GET" or operation.path in {"/metrics", "/query"})
]


def parts_of(annotation):
    """The types in an annotation."""
    return (
        {annotation}
        if get_origin(annotation) is None
        else set().union(*map(parts_of, get_args(annotation)), set())
    )


def declared(field):
    return next((part for part in field.metadata if isinstance(part, NullReason)), None)


def models_of(annotation, seen=None):
    """The response models in an annotation whose null fields the operation does not list itself."""
    seen = set() if seen is None else seen
    for part in parts_of(annotation):
        if isinstance(part, type) and issubclass(part, BaseModel) and part not in seen:
            seen.add(part)
            for field in part.model_fields.values():
                if declared(field) != LISTED_BY_OPERATION:
                    models_of(field.annotation, seen)
    return seen


@pytest.mark.parametrize("read", READS, ids=lambda read: read.path)
def test_every_nullable_number_of_a_read_declares_why_it_is_null(read: Operation):
    undeclared = [
        f"{model.__name__}.{name}"
        for model in models_of(read.answer)
        for name, field in model.model_fields.items()
        if type(None) in parts_of(field.annotation)
        and NUMBERS & parts_of(field.annotation)
        and not declared(field)
    ]
    assert undeclared == []


@pytest.mark.parametrize("read", READS, ids=lambda read: read.path)
def test_read_with_numbers_that_may_be_unmeasured_lists_them(read: Operation):
    models = models_of(read.answer)
    reasons = [one for model in models for field in model.model_fields.values() if (one := declared(field))]
    lists = any("unavailable" in model.model_fields for model in models)
    if any(one.reason for one in reasons):
        assert any(issubclass(model, ListsNullReasons) for model in models)
    if any(one.is_listed_by_operation for one in reasons):
        assert lists


def test_openapi_requires_the_list():
    schemas = build_openapi(operations(), public_url="https://t.example")["components"]["schemas"]
    lists = {name for name, schema in schemas.items() if "unavailable" in schema.get("properties", ())}
    assert {
        "Realtime",
        "UserList",
        "Retention",
        "LifetimeValue",
        "AttributionResponse",
        "AdsResponse",
    } <= lists
    assert {name for name in lists if schemas[name]["required"].count("unavailable") != 1} == set()


class Line(ResponseModel):
    spend: Annotated[float | None, NOT_REPORTED] = 1.0
    clicks: Annotated[int | None, KNOWN_NULL] = 1
    cpc: Annotated[float | None, NullReason(UnavailableReason.PLAN, computed_from=("spend", "clicks"))] = 1.0


class Report(ListsNullReasons):
    lines: list[Line] = []  # noqa: RUF012 - pydantic copies it
    total: Annotated[Line | None, LISTED_BY_OPERATION] = None
    unavailable: list[UnavailableMetric] = NULL_FIELD_REASONS


def reasons(report):
    return {item.metric: item.reason.value for item in report.unavailable}


def test_null_is_listed_once_with_its_reason():
    assert reasons(Report(lines=[Line()])) == {}
    twice = Report(lines=[Line(spend=None), Line(spend=None)])
    assert [item.metric for item in twice.unavailable] == ["spend"]
    assert reasons(twice) == {"spend": "insufficient_data"}


def test_known_null_is_not_listed():
    assert reasons(Report(lines=[Line(clicks=None)])) == {}


def test_quotient_is_listed_only_if_an_operand_is_null():
    assert reasons(Report(lines=[Line(cpc=None)])) == {}
    assert reasons(Report(lines=[Line(cpc=None, spend=None)])) == {
        "spend": "insufficient_data",
        "cpc": "plan",
    }


def test_reasons_of_the_operation_come_first_and_are_kept():
    given = UnavailableMetric(metric="spend", reason=UnavailableReason.NO_AD_PLATFORM)
    report = Report(lines=[Line(spend=None)], total=Line(spend=None, cpc=None), unavailable=[given])
    assert [(item.metric, item.reason.value) for item in report.unavailable] == [
        ("spend", "no_ad_platform"),
        ("spend", "insufficient_data"),
    ]


@pytest.fixture
async def workspace_client(tmp_path):
    """A workspace in dollars, in a deployment without exchange rates."""
    async with run_deployment("memory", tmp_path) as served:
        yield await served.workspace()


async def paid(client, currency):
    client.story.add_event("page_view", at="2026-07-08T14:58", visitor="V1")
    client.story.add_event(
        "purchase", at="2026-07-08T14:59", visitor="V1", revenue=500, currency=currency, order_id="o1"
    )
    await client.knows()


COHORTS = {**DAYS, "granularity": "day", "include_partial": "true"}
MONEY_READS = [
    ("/realtime", {}, {"revenue"}),
    ("/users", DAYS, {"revenue"}),
    ("/users/V1", {}, {"revenue"}),
    ("/retention", COHORTS, {"revenue"}),
    ("/ltv", COHORTS, {"revenue", "cumulative_revenue", "cumulative_revenue_per_person"}),
    ("/attribution", DAYS, {"revenue", "net_revenue", "revenue_per_visitor"}),
]


@pytest.mark.parametrize(
    ("path", "parameters", "fields"), MONEY_READS, ids=[path for path, *_ in MONEY_READS]
)
async def test_money_without_a_rate_is_null_with_its_reason(workspace_client, path, parameters, fields):
    await paid(workspace_client, "JPY")
    answer = await workspace_client.get(path, **parameters)
    assert {item["metric"] for item in answer["unavailable"]} == fields
    assert {item["reason"] for item in answer["unavailable"]} == {"missing_fx_rate"}


@pytest.mark.parametrize(
    ("path", "parameters", "fields"), MONEY_READS, ids=[path for path, *_ in MONEY_READS]
)
async def test_known_money_lists_nothing(workspace_client, path, parameters, fields):
    await paid(workspace_client, "USD")
    assert (await workspace_client.get(path, **parameters))["unavailable"] == []


async def test_unavailable_of_metrics_covers_the_comparison(workspace_client):
    await paid(workspace_client, "JPY")
    before = {"from": "2026-07-08", "to": "2026-07-08"}
    answer = await workspace_client.post(
        "/metrics",
        {
            "metrics": ["revenue", "visitors"],
            "start_date": "2026-07-01",
            "end_date": "2026-07-02",
            "compare": before,
        },
    )
    assert answer["metrics"][0]["value"] == 0
    assert answer["metrics"][0]["previous_value"] is None
    assert answer["unavailable"] == [{"metric": "revenue", "reason": "missing_fx_rate"}]


async def test_unavailable_of_a_query_covers_rows_and_comparison(workspace_client):
    await paid(workspace_client, "JPY")
    plan = {
        "metrics": ["revenue"],
        "date_range": {"from": "2026-07-01", "to": "2026-07-02"},
        "compare": {"from": "2026-07-07", "to": "2026-07-08"},
        "interval": "day",
    }
    answer = await workspace_client.post("/query", plan)
    assert [row["revenue"] for row in answer["rows"]] == [0, 0]
    assert [row["revenue"] for row in answer["comparison"]["rows"]] == [0, None]
    assert answer["meta"]["unavailable"] == [{"metric": "revenue", "reason": "missing_fx_rate"}]
