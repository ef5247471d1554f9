"""Values that the form of a filter suggests: those of the API, in words."""

import json

import pytest

VALUES = "/app/w/k3Jx9QmZ2aPr/filter-values"
WEEK = "from=2026-03-02&to=2026-03-08"


@pytest.fixture
async def ann(shop_deployment):
    await shop_deployment.enrol("ann", "viewer", shop_deployment.gallery)
    return await shop_deployment.person().sign_in("ann@example.com")


async def test_values_of_a_dimension_are_those_of_the_api_with_their_labels(ann, shop_deployment):
    answer = json.loads((await ann.get(f"{VALUES}?{WEEK}&dimension=country")).body)
    _, known = await shop_deployment.api(
        "GET",
        "/v1/dimension-values?dimension=country&start_date=2026-03-02&end_date=2026-03-08",
        await shop_deployment.gallery.key(),
    )
    assert [one["value"] for one in answer["values"]] == [one["value"] for one in known["values"]]
    assert {"value": "DE", "label": "Germany"} in answer["values"]
    found = json.loads((await ann.get(f"{VALUES}?{WEEK}&dimension=country&q=germ")).body)
    assert found == {"values": [{"value": "DE", "label": "Germany"}]}


async def test_unknown_dimension_is_the_error_of_the_api(ann):
    answer = await ann.get(f"{VALUES}?dimension=none")
    assert answer.status == 400
    assert "Unknown dimension" in json.loads(answer.body)["error"]


async def test_values_are_for_members_only(shop_deployment):
    assert (await shop_deployment.person().get(f"{VALUES}?dimension=country")).status == 303
