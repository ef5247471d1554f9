"""All rows of a dimension: the same numbers as the API, searched, sorted and downloaded."""

import csv
import io
import re
from html import unescape

import pytest

from hosts.composition.compose import Service
from service_core.access.api_keys import create_workspace_with_keys
from service_core.api.http_messages import ApiResponse
from service_core.testing.event_builder import EventBuilder
from tests.fixtures.shared_objects import AFTER_WEEK

DETAILS = "/app/w/k3Jx9QmZ2aPr/details"
WEEK = "?from=2026-03-02&to=2026-03-08"


@pytest.fixture
async def ann(shop_deployment):
    await shop_deployment.enrol("ann", "viewer", shop_deployment.gallery)
    return await shop_deployment.person().sign_in("ann@example.com")


def row_labels(answer):
    return [unescape(label) for label in re.findall(r'<th scope="row"><a [^>]+>([^<]*)</a>', answer.body)]


async def visitors_by(deployment, dimension):
    body = {
        "metrics": ["visitors"], "dimensions": [dimension], "limit": 1000,
        "date_range": {"from": "2026-03-02", "to": "2026-03-08"},
    }  # fmt: skip
    status, answer = await deployment.api("POST", "/v1/query", await deployment.gallery.key(), body)
    assert status == 200
    return {row[dimension]: row["visitors"] for row in answer["rows"]}


async def test_details_list_every_value_with_its_numbers(shop_deployment, ann):
    answer = await ann.get(f"{DETAILS}/page_path{WEEK}")
    counted = await visitors_by(shop_deployment, "page_path")
    assert sorted(row_labels(answer)) == sorted(
        path if path != "(not set)" else "No page" for path in counted
    )
    assert re.search(r'aria-sort="descending"><a href="[^"]+">Visitors', answer.body)


async def test_search_finds_values_by_part_and_countries_by_name(ann):
    every = row_labels(await ann.get(f"{DETAILS}/country{WEEK}"))
    assert "Germany" in every
    assert row_labels(await ann.get(f"{DETAILS}/country{WEEK}&q=germ")) == ["Germany"]
    nothing = await ann.get(f"{DETAILS}/country{WEEK}&q=atlantis")
    assert "Nothing matches “atlantis”" in nothing.text


async def test_click_on_a_column_sorts_by_it_and_a_second_one_turns_the_order(ann):
    first = await ann.get(f"{DETAILS}/page_path{WEEK}")
    (link,) = re.findall(r'<th scope="col"><a href="([^"]+)">Page<', first.body)
    ascending = await ann.get(f"{DETAILS}/page_path{unescape(link)}")
    assert row_labels(ascending) == sorted(row_labels(first), key=lambda label: label.replace("No page", ""))
    (link,) = re.findall(r'aria-sort="ascending"><a href="([^"]+)">Page', ascending.body)
    assert row_labels(await ann.get(f"{DETAILS}/page_path{unescape(link)}")) == row_labels(ascending)[::-1]


async def test_csv_has_the_rows_of_every_page_and_no_formula(shop_deployment, ann):
    story = EventBuilder(shop_deployment.gallery.workspace.id)
    story._next_seq += 10_000_000
    paths = ["=HYPERLINK(1)", *(f"/p/{number:04}" for number in range(1100))]
    for path in paths:
        story.add_event("page_view", at=AFTER_WEEK, visitor="V", source="browser", page_path=path)
    await shop_deployment.service.ports.events.append(story.events)
    page = await ann.get(f"{DETAILS}/page_path?range=today")
    assert len(row_labels(page)) == 100
    (following,) = re.findall(r'<a class="button" href="([^"]+)">Next 100 rows', page.body)
    second = row_labels(await ann.get(f"{DETAILS}/page_path{unescape(following)}"))
    assert len(second) == 100
    assert not set(second) & set(row_labels(page))
    answer = await ann.get(f"{DETAILS}/page_path/csv?range=today")
    assert (
        answer.headers["Content-Disposition"] == 'attachment; filename="page_path_2026-03-12_2026-03-12.csv"'
    )
    head, *rows = csv.reader(io.StringIO(answer.body))
    assert head[:3] == ["page_path", "visitors", "sessions"]
    assert {row[0] for row in rows} == {"'=HYPERLINK(1)", *paths[1:]}


@pytest.mark.parametrize("status", [400, 429, 503])
async def test_refused_download_has_the_status_of_the_api(ann, monkeypatch, status):
    page = await ann.get(f"{DETAILS}/country{WEEK}")
    assert "The file has at most 50,000 rows." in page.text
    dispatch = Service.dispatch

    async def refuse_query(self, request):
        if request.path == "/v1/query":
            return ApiResponse(status, {}, b'{"error": "Not now"}')
        return await dispatch(self, request)

    monkeypatch.setattr(Service, "dispatch", refuse_query)
    assert (await ann.get(f"{DETAILS}/country/csv{WEEK}")).status == status


@pytest.mark.parametrize("dimension", ["none", "plan", "..", "country%2F"])
async def test_unknown_dimension_is_not_found(ann, dimension):
    assert (await ann.get(f"{DETAILS}/{dimension}")).status == 404


async def test_details_are_not_found_for_non_members(shop_deployment):
    assert (await shop_deployment.person().get(f"{DETAILS}/country")).status == 303
    await shop_deployment.enrol("eve", "owner", await another_workspace(shop_deployment))
    eve = await shop_deployment.person().sign_in("eve@example.com")
    for path in ("country", "country/csv"):
        assert (await eve.get(f"{DETAILS}/{path}")).status == 404


async def another_workspace(deployment):
    return await create_workspace_with_keys(deployment.store.credentials, deployment.clock(), name="Other")
