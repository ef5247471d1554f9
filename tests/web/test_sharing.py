"""What of a workspace is public, in the web application."""

import re

import pytest

from hosts.web import share_links
from service_core.kernel.ids import new_id
from tests.fixtures.composed_deployment import Deployment, ManualClock, compose_deployment, create_application
from tests.fixtures.shared_objects import AFTER_WEEK, SharedObjects

PAGE = "/app/w/k3Jx9QmZ2aPr/shared"


@pytest.fixture
async def deployment(tmp_path):
    clock = ManualClock()
    clock.now = AFTER_WEEK
    service, letters = compose_deployment(
        tmp_path, clock=clock, settings={"storage": {"events": "memory://"}}
    )
    async with service:
        deployment = Deployment(service, create_application(service), clock, letters, None, None)
        deployment.gallery = await SharedObjects(service).open(clock.now)
        yield deployment


async def sign_in_member(deployment, role):
    await deployment.enrol("ann", role, deployment.gallery)
    return await deployment.person().sign_in("ann@example.com")


def visible_words(answer):
    return " ".join(answer.text.split())


async def test_member_creates_a_share_link_shown_once(deployment):
    report = await deployment.gallery.report("Weekly visitors")
    ann = await sign_in_member(deployment, "member")
    made = await ann.follow(await ann.send(PAGE, PAGE, object=f"report:{report}", days="7", named="1"))
    assert made.status == 200
    url = re.search(r'class="secret"[^>]*>([^<]+)<', made.body).group(1)
    page = await deployment.person().get("/app" + url.partition("/app")[2])
    assert (page.status, "Weekly visitors" in page.text, "Example Shop" in page.text) == (200, True, True)
    listed = visible_words(await ann.get(PAGE))
    assert "expires 19 March 2026" in listed
    assert f"…{url[-4:]}" in listed
    assert url not in (await ann.get(PAGE)).body


async def test_long_lists_of_objects_are_searched_by_name(deployment, monkeypatch):
    monkeypatch.setattr(share_links, "MAX_OFFERED", 2)
    names = "Oldest", "Older", "Newest"
    reports = {name: await deployment.gallery.report(name) for name in names[:2]}
    ann = await sign_in_member(deployment, "member")
    assert "Search by name" not in visible_words(await ann.get(PAGE))
    reports[names[2]] = await deployment.gallery.report(names[2])

    async def offered(query=""):
        page = await ann.get(f"{PAGE}{query}")
        assert "Search by name" in visible_words(page)
        return [name for name in names if f'value="report:{reports[name]}"' in page.body]

    assert await offered() == ["Older", "Newest"]
    assert await offered("?find=%20OLD") == ["Oldest", "Older"]
    assert await offered("?find=nothing%00") == []
    assert "Search by name" in visible_words(await ann.get(f"{PAGE}?find=nothing"))


async def test_revoked_link_stops_working_immediately(deployment):
    link = await deployment.gallery.share("report", await deployment.gallery.report("Weekly visitors"))
    ann = await sign_in_member(deployment, "member")
    done = await ann.send(PAGE, f"{PAGE}/{link['id']}")
    assert (done.status, done.location) == (303, f"{PAGE}?done=unshared")
    assert (await deployment.person().get(link["path"])).status == 410
    assert "report · revoked" in visible_words(await ann.get(PAGE))


async def test_viewer_lists_share_links_and_cannot_change_them(deployment):
    link = await deployment.gallery.share("report", await deployment.gallery.report("Weekly visitors"))
    ann = await sign_in_member(deployment, "viewer")
    page = await ann.get(PAGE)
    assert "Weekly visitors" in page.text
    assert '<form method="post" action="' + PAGE not in page.body
    for path in (PAGE, f"{PAGE}/{link['id']}"):
        assert (await ann.send(PAGE, path, object=f"report:{link['object_id']}", days="")).status == 403
    assert (await deployment.person().get(link["path"])).status == 200


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"object": "report:x"}, 404),
        ({"object": f"link:{new_id()}"}, 404),
        ({"object": f"report:{new_id()}"}, 422),
        ({"object": f"report:{new_id()}", "days": "9999"}, 404),
        ({}, 404),
    ],
)
async def test_objects_outside_of_the_form_are_refused(deployment, fields, status):
    ann = await sign_in_member(deployment, "owner")
    assert (await ann.send(PAGE, PAGE, **fields)).status == status
    assert await deployment.gallery.send("GET", "/share-links") == {"share_links": [], "next_cursor": None}


async def test_share_links_of_another_workspace_are_not_found(deployment):
    link = await deployment.gallery.share("report", await deployment.gallery.report())
    other = SharedObjects(deployment.service)
    await other.open(deployment.clock(), events=lambda *_: [])
    await deployment.enrol("bob", "owner", other)
    bob = await deployment.person().sign_in("bob@example.com")
    page = f"/app/w/{other.workspace.public_id}/shared"
    assert "Nothing is shared publicly" in visible_words(await bob.get(page))
    assert (await bob.get(PAGE)).status == 404
    assert (await bob.send(page, f"{page}/{link['id']}")).status == 404
    assert (await deployment.person().get(link["path"])).status == 200
