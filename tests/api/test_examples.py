"""The examples of the OpenAPI document are requests that a deployment answers as recorded."""

import json

import pytest
from jsonschema import Draft202012Validator

from hosts.composition.compose import load_installed_registry_once
from service_core.api.examples import load_examples
from service_core.api.host_routes import HOST_ROUTES
from service_core.api.openapi import build_openapi
from tests.api.example_requests import record_examples


@pytest.fixture(scope="module")
def document():
    operations = load_installed_registry_once().operations
    built = build_openapi(operations, public_url="https://t.example", host_routes=HOST_ROUTES)
    return json.loads(json.dumps(built, default=dict))


def operations_of(document):
    return [
        described
        for item in document["paths"].values()
        for method, described in item.items()
        if method != "servers"
    ]


def successes_of(described):
    return [response for status, response in described["responses"].items() if status[0] in "23"]


def test_every_operation_has_an_example_of_its_request_and_answer(document):
    for described in operations_of(document):
        name = described["operationId"]
        bodies = described.get("requestBody", {}).get("content", {}).values()
        assert all("example" in body for body in bodies), name
        required = [each for each in described.get("parameters", []) if each["required"]]
        assert all("example" in parameter for parameter in required), name
        contents = [
            content
            for response in successes_of(described)
            for content in response.get("content", {}).values()
        ]
        assert not contents or any("example" in content for content in contents), name


def test_examples_satisfy_their_schemas(document):
    checked = 0
    for described in operations_of(document):
        responses = successes_of(described)
        parts = [described.get("requestBody", {}), *responses]
        contents = [content for part in parts for content in part.get("content", {}).values()]
        for content in [*contents, *described.get("parameters", [])]:
            if "example" in content:
                schema = content["schema"] | {"components": document["components"]}
                Draft202012Validator(schema).validate(content["example"])
                checked += 1
    assert checked > len(load_examples())


async def test_recorded_requests_are_answered_with_the_recorded_fields(tmp_path):
    fresh, recorded = await record_examples(tmp_path), load_examples()
    assert fresh.keys() == recorded.keys(), "run `python -m tests.api.example_requests`"
    for name, example in fresh.items():
        assert fields_of(example) == fields_of(recorded[name]), name


def fields_of(example):
    """What must not change: the names of what is sent and answered, the status, and no id or time."""
    answer = example.get("answer")
    answered = sorted(answer) if isinstance(answer, dict) else answer
    sent = {part: sorted(example[part]) for part in ("path", "query", "body") if part in example}
    return sent, answered, example["status"]
