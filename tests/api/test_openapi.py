"""The description is valid OpenAPI 3.1 and says what the gateway does."""

import json

import pytest
from openapi_spec_validator import validate

from service_core.api.openapi import build_openapi
from service_core.builtin import operations as builtin_operations


@pytest.fixture
def document(operations):
    return build_openapi(operations, public_url="https://t.example")


def test_openapi_of_the_core_validates():
    document = build_openapi(builtin_operations(), public_url="https://t.example")
    validate(document)
    assert (document["openapi"], document["info"]["version"]) == ("3.1.0", "1.0.0")
    assert {"/health", "/ready", "/openapi.json"} <= set(document["paths"])


def test_every_operation_stands_at_its_path_and_validates(document):
    validate(json.loads(json.dumps(document)))
    assert set(document["paths"]) == {
        "/v1/things", "/v1/things/{thing_id}", "/v1/run", "/v1/faults/{kind}", "/v1/unrenderable", "/v1/reasons",
        "/ping", "/v1/signup",
    }  # fmt: skip


def test_parameters_carry_bounds_defaults_and_aliases(document):
    limit, colour = document["paths"]["/v1/things"]["get"]["parameters"]
    assert limit["schema"] == {"default": 20, "maximum": 100, "minimum": 1, "type": "integer"}
    assert (limit["in"], limit["required"]) == ("query", False)
    assert (colour["name"], colour["description"]) == ("colour", "Also accepted as `color`.")


def test_parameter_models_are_not_listed_as_components(document):
    assert "ThingsQuery" not in document["components"]["schemas"]
    assert {"Things", "Thing", "NewThing", "Colour"} <= set(document["components"]["schemas"])


def test_money_is_a_number_and_a_timestamp_a_date_time(document):
    thing = document["components"]["schemas"]["Thing"]["properties"]
    assert thing["price"] == {"type": "number"}
    assert thing["made_at"] == {"type": "string", "format": "date-time"}


def test_every_status_of_a_route_is_described(document):
    statuses = set(document["paths"]["/v1/things"]["post"]["responses"])
    assert statuses == {"200", "400", "401", "403", "404", "405", "409", "413", "429", "500", "503"}
    assert set(document["paths"]["/ping"]["get"]["responses"]) == {"200", "405", "413", "500"}
    assert "202" in document["paths"]["/v1/signup"]["post"]["responses"]


def test_security_names_the_scope(document):
    assert document["paths"]["/v1/things"]["post"]["security"] == [{"key": ["service:write:reports"]}]
    assert "security" not in document["paths"]["/ping"]["get"]


async def test_statuses_of_the_dispatcher_are_described(api_client, document):
    for method, path, key in [
        ("get", "/v1/things", "agent"), ("get", "/v1/things", None), ("post", "/v1/things", "agent"),
        ("post", "/v1/things", "editor"), ("get", "/v1/unrenderable", "agent"), ("get", "/ping", None),
    ]:  # fmt: skip
        got = await api_client.ask(method.upper(), path, key=key)
        assert str(got.status) in document["paths"][path][method]["responses"]
