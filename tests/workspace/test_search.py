"""`GET /search` for what a workspace owns, through the door."""

import pytest

OWNED = {
    "report": (
        "/reports",
        {"report": {"name": "Weekly", "source": "catalog", "metric_id": "revenue", "chart": "number"}},
    ),
    "dashboard": ("/dashboards", {"dashboard": {"name": "Weekly board"}}),
    "analysis": ("/analyses", {"analysis": {"title": "Weekly notes", "body_md": "All is well."}}),
}


@pytest.mark.parametrize("type_", OWNED)
async def test_saved_objects_are_found_by_name_until_deleted(workspace_api, type_):
    path, body = OWNED[type_]
    made = await workspace_api.ask("POST", path, body)
    assert made.status == 200, made.json
    own = made.json["data"]["id"]
    (found,) = (await workspace_api.ask("GET", f"/search?q=weekly&types={type_}")).json["results"]
    assert (found["type"], found["id"], found["value"], found["dimension"]) == (type_, own, own, None)
    assert found["label"].startswith("Weekly")
    assert (await workspace_api.ask("GET", f"/search?q=weekly&types={type_}", key="other")).json[
        "results"
    ] == []
    await workspace_api.ask("DELETE", f"{path}/{own}")
    assert (await workspace_api.ask("GET", f"/search?q=weekly&types={type_}")).json["results"] == []


async def test_repeated_type_is_searched_once(workspace_api):
    path, body = OWNED["report"]
    await workspace_api.ask("POST", path, body)
    (found,) = (await workspace_api.ask("GET", f"/search?q=weekly&types={'report,' * 100}report")).json[
        "results"
    ]
    assert found["label"] == "Weekly"


async def test_prefix_matches_precede_others_for_any_limit(workspace_api):
    path, body = OWNED["report"]
    for name in ("My weekly", "weekly b", "Weekly A", "Daily"):
        await workspace_api.ask("POST", path, {"report": body["report"] | {"name": name}})
    for limit in (1, 2, 3):
        found = await workspace_api.ask("GET", f"/search?q=WEEKLY&types=report&limit={limit}")
        assert [one["label"] for one in found.json["results"]] == ["Weekly A", "weekly b", "My weekly"][
            :limit
        ]


async def test_link_is_found_by_its_tag_and_its_slug_too(workspace_api):
    made = (await workspace_api.link(name="Reel", slug="Holidays"))["data"]
    for text in ("reel", "oliday", made["tracking_identifier"].upper()):
        (found,) = (await workspace_api.ask("GET", f"/search?q={text}&types=link")).json["results"]
        assert (found["label"], found["value"]) == ("Reel", made["tracking_identifier"])
    assert (await workspace_api.ask("GET", "/search?q=example.com&types=link")).json["results"] == []
