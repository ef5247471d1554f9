"""Annotations in the web application: the list, the form, and the marks on charts."""

import re

import pytest

from hosts.web import overview
from hosts.web.cards.annotations import LoadedAnnotations

PAGE = "/app/w/k3Jx9QmZ2aPr/annotations"
WORKSPACE = PAGE.removesuffix("/annotations")
WEEK = "from=2026-03-02&to=2026-03-08"
FIELDS = {"text": "Spring sale starts", "date": "2026-03-03", "time": "09:30", "visibility": "workspace"}


async def sign_in_member(shop_deployment, role="admin", name="ann"):
    await shop_deployment.enrol(name, role, shop_deployment.gallery)
    return await shop_deployment.person().sign_in(f"{name}@example.com")


def visible_words(answer):
    return " ".join(answer.text.split())


async def stored_annotations(shop_deployment):
    return (await shop_deployment.gallery.send("GET", "/annotations"))["annotations"]


async def save_annotation(ann, **fields):
    made = await ann.send(f"{PAGE}/new", PAGE, action="save", **(FIELDS | fields))
    assert made.status == 303, made.text
    return made


def mark_numbers(answer):
    return re.findall(r'<g class="annotation">.*?<text[^>]*>(\d+)</text>', answer.body)


async def test_annotation_is_previewed_created_and_listed(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    assert "No annotations yet" in visible_words(await ann.get(PAGE))
    preview = await ann.send(f"{PAGE}/new", PAGE, action="preview", **FIELDS)
    assert "Preview: nothing is saved yet" in visible_words(preview)
    assert await stored_annotations(shop_deployment) == []
    saved = await save_annotation(ann)
    listed = visible_words(await ann.get(saved.location))
    assert "Created. " in listed
    assert "Spring sale starts 3 March 2026, 09:30 Everyone you" in listed


async def test_refused_annotation_keeps_what_was_typed(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    answer = await ann.send(f"{PAGE}/new", PAGE, action="save", **(FIELDS | {"date": "2026-02-30"}))
    assert answer.status in (400, 422)
    assert 'role="alert"' in answer.body
    assert 'value="Spring sale starts"' in answer.body


async def test_changed_and_deleted_annotation_can_be_undone(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    await save_annotation(ann)
    [annotation] = await stored_annotations(shop_deployment)
    path = f"{PAGE}/{annotation['id']}"
    changed = await ann.send(path, path, **(FIELDS | {"time": "", "text": "Sale"}))
    [annotation] = await stored_annotations(shop_deployment)
    assert (annotation["text"], annotation["time"]) == ("Sale", None)
    undo = re.search(r'action="(/app[^"]+/undo/[^"]+)"', (await ann.get(changed.location)).body).group(1)
    await ann.send(changed.location, undo, next=changed.location.removeprefix("/app"))
    assert (await stored_annotations(shop_deployment))[0]["time"] == "09:30"
    gone = await ann.send(path, f"{path}/delete", action="save")
    assert (await ann.get(path)).status == 404
    undo = re.search(r'action="(/app[^"]+/undo/[^"]+)"', (await ann.get(gone.location)).body).group(1)
    await ann.send(gone.location, undo, next=gone.location.removeprefix("/app"))
    assert len(await stored_annotations(shop_deployment)) == 1


async def test_viewer_reads_annotations_and_is_refused_the_form(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    await save_annotation(ann)
    await save_annotation(ann, text="Only for Ann", visibility="private")
    bob = await sign_in_member(shop_deployment, "viewer", "bob")
    listed = visible_words(await bob.get(PAGE))
    assert "Spring sale starts" in listed
    assert "Only for Ann" not in listed
    assert "New annotation" not in listed
    assert (await bob.get(f"{PAGE}/new")).status == 403


@pytest.fixture
async def chart_pages(shop_deployment):
    """Addresses of a page of each kind with a chart over the week of the standard events."""
    gallery = shop_deployment.gallery
    report = await gallery.report()
    dashboard = await gallery.dashboard([report])
    return [
        f"{WORKSPACE}?{WEEK}",
        f"{WORKSPACE}/explore?metrics=visitors&chart=line&{WEEK}",
        f"{WORKSPACE}/reports/{report}?{WEEK}",
        f"{WORKSPACE}/dashboards/{dashboard}?{WEEK}",
    ]


async def test_charts_of_every_page_mark_and_list_annotations(shop_deployment, chart_pages):
    ann = await sign_in_member(shop_deployment)
    await save_annotation(ann)
    await save_annotation(ann, date="2026-03-02", time="", text="Release <2.0>")
    await save_annotation(ann, date="2026-03-03", time="11:00", text="Outage")
    await save_annotation(ann, date="2026-03-01", text="Before the range")
    for address in chart_pages:
        answer = await ann.get(address)
        assert mark_numbers(answer) == ["1", "2"], address
        words = visible_words(answer)
        assert "1 2 March 2026 Release <2.0>" in words, address
        assert "2 3 March 2026, 09:30 Spring sale starts 2 3 March 2026, 11:00 Outage" in words, address
        assert "Before the range" not in words
        assert "Release <2.0>" not in answer.body


async def test_chart_by_hour_marks_the_hour_in_the_zone_of_the_workspace(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    await save_annotation(ann, date="2026-03-03", time="13:59")
    answer = await ann.get(f"{WORKSPACE}?from=2026-03-03&to=2026-03-03&interval=hour")
    stop = re.compile(r'<g class="stop".*?<line class="rule" x1="([\d.]+)%".*?<b>([^<]+)</b>', re.DOTALL)
    hours = stop.findall(answer.body)
    place = re.search(r'<g class="annotation"><line x1="([\d.]+)%"', answer.body).group(1)
    assert dict(hours)[place].endswith("13:00")


async def test_annotations_that_cannot_be_read_are_said_below_the_chart(shop_deployment, monkeypatch):
    ann = await sign_in_member(shop_deployment)

    async def fail(*_):
        return LoadedAnnotations(problem="Try again.")

    monkeypatch.setattr(overview, "read_annotations", fail)
    answer = await ann.get(f"{WORKSPACE}?{WEEK}")
    assert answer.status == 200
    assert "Annotations are not available: Try again." in visible_words(answer)
