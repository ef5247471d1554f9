"""No workspace reaches into another (S1): every route x every id x (own, other, deleted, random).

The routes are those of the API: one with an id that nobody here knows how to make fails. What another
workspace owns is answered as what never was, byte for byte once the ids are left out.
"""

import re

import pytest

from hosts.composition.compose import load_installed_registry_once
from service_core.kernel.ids import new_id
from service_core.kernel.operations import RoutePrefix
from tests.workspace.resource_fixtures import BODY_IDS, CREATORS, NEVER_DELETED, PATCH_BODIES, ResourceFactory

ROUTES_BOUND_TO_A_CREDENTIAL = {
    "GET /signup/{signupId}": "bound to its own secret, tests/access/test_signup.py",
    "GET /exports/download/{exportId}": "bound to its signature, tests/delivery/test_downloads.py",
}
"""Routes whose id is not of a workspace's key, and where they are held to it."""

ROUTES = {
    f"{operation.method} {operation.path}": re.findall(r"\{(\w+)\}", operation.path)
    for operation in load_installed_registry_once().operations
    if "{" in operation.path and operation.prefix is RoutePrefix.V1
}


def without_ids(answer, *ids):
    """An answer with the ids that were asked for, and its own, left out."""
    text = answer.bytes.decode()
    for one in ids:
        text = text.replace(one, "ID")
    return answer.status, text


@pytest.fixture
def resource_factory(workspace_api):
    return ResourceFactory(workspace_api)


def test_every_route_id_has_a_factory():
    names = {
        name for route, found in ROUTES.items() if route not in ROUTES_BOUND_TO_A_CREDENTIAL for name in found
    }
    assert names - set(CREATORS) == set()


async def test_objects_of_another_workspace_are_not_found(workspace_api, resource_factory):
    leaks = []
    for route, (name,) in ROUTES.items():
        if route in ROUTES_BOUND_TO_A_CREDENTIAL:
            continue
        method, path = route.split(" ")
        parameters = {
            "own": await resource_factory.id(name, "shop"),
            "other": await resource_factory.id(name, "other"),
            "random": str(new_id()),
        }
        if name not in NEVER_DELETED:
            parameters["deleted"] = await resource_factory.id(name, "shop", deleted=True)
        values = {
            kind: without_ids(
                await workspace_api.ask(method, path.replace(f"{{{name}}}", one), PATCH_BODIES.get(route)),
                one,
            )
            for kind, one in reversed(parameters.items())
        }
        assert values["random"][0] == 404, (route, values["random"])
        if values["own"][0] == 404:
            leaks.append(f"{route}: its own is not found")
        leaks += [
            f"{route}: {kind} {values[kind]}"
            for kind in ("other", "deleted")
            if values.get(kind, values["random"]) != values["random"]
        ]
        resource_factory.made = {key: one for key, one in resource_factory.made.items() if key[0] != name}
    assert leaks == []


@pytest.mark.parametrize("where", BODY_IDS)
async def test_ids_of_another_workspace_in_bodies_are_not_found(workspace_api, resource_factory, where):
    name, body = BODY_IDS[where]
    method, path = where.split(" ")[:2]
    if method == "PATCH":
        path = f"{path}/{await resource_factory.id('dashboardId', 'shop')}"
    own, other = await resource_factory.id(name, "shop"), await resource_factory.id(name, "other")
    gone = await resource_factory.id(name, "shop", deleted=True)
    unknown = str(new_id())
    answers = {one: await workspace_api.ask(method, path, body(one)) for one in (other, gone, unknown, own)}
    assert answers[own].status == 200, answers[own].json
    assert answers[unknown].status == 422
    assert (
        without_ids(answers[other], other)
        == without_ids(answers[gone], gone)
        == without_ids(answers[unknown], unknown)
    )


async def test_lists_and_searches_show_nothing_of_another_workspace(workspace_api, resource_factory):
    for name in CREATORS:
        await resource_factory.id(name, "shop")
    theirs = [await resource_factory.id(name, "other") for name in CREATORS]
    for operation in load_installed_registry_once().operations:
        if operation.prefix is RoutePrefix.V1 and operation.method == "GET" and "{" not in operation.path:
            query = "?start_date=2026-07-01&end_date=2026-07-08&q=visitor&dimension=channel&steps=a,b"
            answer = await workspace_api.ask("GET", operation.path + query)
            assert [one for one in theirs if one in answer.bytes.decode()] == [], operation.path
