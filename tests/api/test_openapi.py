"""The description is valid OpenAPI 3.1 and says what the gateway does."""

import json
import re
from dataclasses import replace

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from hosts.composition.compose import load_installed_registry_once
from service_core.api.host_routes import HOST_ROUTES
from service_core.api.openapi import HostUrls, build_openapi
from service_core.builtin import operations as builtin_operations

URLS = HostUrls("https://t.example", "https://in.example", "https://go.example")


@pytest.fixture
def document(operations):
    return build_openapi(operations, public_url="https://t.example")


@pytest.fixture(scope="module")
def full_document():
    """The document of all that is installed, with the routes of every host."""
    operations = load_installed_registry_once().operations
    built = build_openapi(operations, public_url=URLS.api, host_routes=HOST_ROUTES, host_urls=URLS)
    return json.loads(json.dumps(built, default=dict))


def operations_of(document):
    """Path, method and operation of a document."""
    return [
        (path, method, described)
        for path, item in document["paths"].items()
        for method, described in item.items()
        if method != "servers"
    ]


def values_of_key(node, key):
    """All values that have a key, at any depth."""
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    found = [node[key]] if isinstance(node, dict) and key in node else []
    return found + [value for child in children for value in values_of_key(child, key)]


def test_openapi_of_all_hosts_is_valid(full_document):
    assert [error.message for error in OpenAPIV31SpecValidator(full_document).iter_errors()] == []


def test_schema_titles_are_unique_names_without_modules(full_document):
    schemas = full_document["components"]["schemas"]
    assert {name for name, schema in schemas.items() if schema.get("title", name) != name} == set()
    assert {name for name in schemas if not re.fullmatch("[A-Z][A-Za-z0-9]+", name)} == set()


def test_no_schema_has_null_as_default(full_document):
    assert None not in values_of_key(full_document, "default")


def test_two_schemas_of_one_name_are_refused(operations):
    routes = (replace(HOST_ROUTES[0], schemas={"Thing": {}}),)
    with pytest.raises(ValueError, match="Thing"):
        build_openapi(operations, public_url=URLS.api, host_routes=routes)


def test_routes_of_ingest_and_link_host_name_their_server(full_document):
    paths = full_document["paths"]
    assert paths["/track"]["servers"] == [{"url": "https://in.example"}]
    assert paths["/{slug}"]["servers"] == [{"url": "https://go.example"}]
    assert "servers" not in paths["/oauth/token"]


def test_link_host_without_a_domain_is_a_variable(operations):
    urls = HostUrls("https://t.example", "https://in.example")
    document = build_openapi(operations, public_url=urls.api, host_routes=HOST_ROUTES, host_urls=urls)
    (server,) = document["paths"]["/{slug}"]["servers"]
    assert server["url"] == "https://{link_domain}"
    validate(json.loads(json.dumps(document, default=dict)))


def test_every_security_requirement_names_a_scheme(full_document):
    schemes = full_document["components"]["securitySchemes"]
    assert {"ingest_key", "ingest_bearer", "write_key", "oauth"} <= set(schemes)
    oauth = schemes["oauth"]["flows"]["authorizationCode"]
    assert oauth["tokenUrl"] == "https://t.example/oauth/token"
    for path, _, described in operations_of(full_document):
        for requirement in described.get("security", []):
            assert set(requirement) <= set(schemes), path
            assert set(requirement.get("oauth", [])) <= set(oauth["scopes"])


def test_operation_ids_are_unique(full_document):
    ids = [described["operationId"] for _, _, described in operations_of(full_document)]
    assert len(ids) == len(set(ids))


def test_paths_are_listed_in_order(full_document):
    assert list(full_document["paths"]) == sorted(full_document["paths"])


def test_required_bodies_are_those_that_no_empty_body_replaces():
    operations = {op.id: op for op in load_installed_registry_once().operations if op.body is not None}
    document = build_openapi(list(operations.values()), public_url=URLS.api)
    for _, _, described in operations_of(document):
        op = operations[described["operationId"]]
        assert described["requestBody"]["required"] is not op.body_optional
        if op.body_optional:
            op.body.model_validate({})


def test_fields_of_a_row_that_a_request_can_leave_out_are_not_required(full_document):
    schemas = full_document["components"]["schemas"]
    rows = ("EventRow", "UserRow", "RetentionRow", "LifetimeValueRow", "AdRow", "SubscriptionRow")
    assert [name for name in rows if "required" in schemas.get(f"Partial{name}", schemas[name])] == []
    assert "required" in schemas["ReportAnswer"]


def test_write_that_may_wait_for_an_approval_has_a_second_answer(full_document):
    responses = {
        described["operationId"]: described["responses"] for _, _, described in operations_of(full_document)
    }
    waiting = {"$ref": "#/components/schemas/ApprovalAnswer"}
    for name in ("create_link", "undo_change", "roll_back_actor", "apply_change_set", "update_workspace"):
        assert responses[name]["202"]["content"]["application/json"]["schema"] == waiting, name
    assert "202" not in responses["test_connection"]


def test_openapi_of_the_core_validates():
    document = build_openapi(builtin_operations(), public_url="https://t.example")
    validate(document)
    assert (document["openapi"], document["info"]["version"]) == ("3.1.0", "1.0.0")
    assert {"/health", "/ready", "/openapi.json"} <= set(document["paths"])


def test_every_operation_stands_at_its_path_and_validates(document):
    validate(json.loads(json.dumps(document)))
    assert set(document["paths"]) == {
        "/v1/things", "/v1/things/{thing_id}", "/v1/run", "/v1/faults/{kind}", "/v1/unrenderable", "/v1/reasons",
        "/ping", "/v1/signup", "/v1/internal",
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
    post = document["paths"]["/v1/things"]["post"]
    assert (post["security"], post["x-required-scope"]) == ([{"key": []}], "service:write:reports")
    assert "security" not in document["paths"]["/ping"]["get"]


async def test_statuses_of_the_dispatcher_are_described(api_client, document):
    for method, path, key in [
        ("get", "/v1/things", "agent"), ("get", "/v1/things", None), ("post", "/v1/things", "agent"),
        ("post", "/v1/things", "editor"), ("get", "/v1/unrenderable", "agent"), ("get", "/ping", None),
    ]:  # fmt: skip
        got = await api_client.ask(method.upper(), path, key=key)
        assert str(got.status) in document["paths"][path][method]["responses"]
