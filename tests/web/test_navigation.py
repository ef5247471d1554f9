"""The side bar of a workspace: entries of registered pages, the current one, and the switch between workspaces."""

import re

import pytest

from hosts.web.navigation import ENTRIES, NavSection, build_navigation
from hosts.web.pages import PAGES
from service_core.access.members.models import Member
from service_core.access.roles import Role
from tests.fixtures.browser_deployment import IN_BROWSER
from tests.fixtures.composed_deployment import running_deployment
from tests.fixtures.port_stubs import NOW

ROUTES = frozenset(page.route for page in PAGES)


@pytest.fixture
async def deployment(tmp_path):
    async with running_deployment(tmp_path, {"storage": {"events": "memory://"}}) as deployment:
        yield deployment


def navigation_of(deployment, role, path="", routes=ROUTES):
    workspace = deployment.workspace
    member = Member(workspace.id, workspace.id, role, NOW)
    return build_navigation(routes, member, workspace, [(workspace, member)], path)


def shown_paths(navigation):
    links = [link for _, found in navigation.sections for link in found] + list(navigation.settings)
    return {link.path for link in links}


def side_bars(html):
    """The side bar and the list of the settings pages."""
    return "".join(re.findall(r'(?s)<header.*?</header>|<nav class="second".*?</nav>', html))


async def test_entries_without_a_registered_page_are_left_out(deployment):
    shown = navigation_of(deployment, Role.OWNER, routes={"GET /w/<public_id>", "GET /w/<public_id>/audit"})
    prefix = f"/w/{deployment.workspace.public_id}"
    assert shown_paths(shown) == {prefix, f"{prefix}/audit"}
    assert [title for title, _ in shown.sections] == [NavSection.OVERVIEW]


async def test_every_shown_entry_opens_and_marks_itself_as_current(deployment):
    ann = await deployment.signed_in("ann", "owner")
    for path in sorted(shown_paths(navigation_of(deployment, Role.OWNER))):
        page = await ann.get(f"/app{path}")
        assert page.status == 200, path
        current = re.findall(r'<a href="([^"]+)" aria-current="page"', side_bars(page.body))
        assert set(current) == {f"/app{path}"}, path
        assert page.body.count("<h1>") == 1, path


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MEMBER, Role.ADMIN])
async def test_role_sees_no_entry_that_it_may_not_open(deployment, role):
    person = await deployment.signed_in("bob", role.value)
    page = side_bars((await person.get(f"{deployment.settings}/audit")).body)
    shown = shown_paths(navigation_of(deployment, role))
    for entry in ENTRIES:
        path = f"/w/{deployment.workspace.public_id}{entry.path}"
        assert (f'href="/app{path}"' in page) is (path in shown), path
        if f"GET /w/<public_id>{entry.path}" in ROUTES:
            assert (await person.get(f"/app{path}")).status == (200 if path in shown else 403), path


async def test_page_below_an_entry_marks_the_entry(deployment):
    routes = {"GET /w/<public_id>", "GET /w/<public_id>/people"}
    shown = navigation_of(deployment, Role.OWNER, "/people/abc", routes)
    marked = [link.label for _, links in shown.sections for link in links if link.is_current]
    assert marked == ["People"]


async def test_switcher_lists_the_workspaces_of_the_person_only(deployment):
    await deployment.enrol("ann", "owner")
    await deployment.enrol("ann", "viewer", deployment.other)
    await deployment.enrol("bob", "viewer")
    ann, bob = [await deployment.person().sign_in(f"{name}@example.com") for name in ("ann", "bob")]
    other = f'href="/app/w/{deployment.other.workspace.public_id}"'
    assert other in (await ann.get(deployment.settings)).body
    assert other not in (await bob.get(deployment.settings)).body


class TestInBrowser:
    pytestmark = IN_BROWSER

    async def test_menu_opens_on_a_phone_without_javascript(self, browser_deployment):
        options = {"viewport": {"width": 390, "height": 800}, "java_script_enabled": False}
        async with browser_deployment.page(**options) as page:
            await page.goto(f"{browser_deployment.settings}/audit")
            menu = page.locator("#menu")
            assert not await menu.is_visible()
            await page.click(".bottom >> text=Menu")
            await menu.wait_for(state="visible")
            await page.click("text=Close menu")
            await menu.wait_for(state="hidden")
            await page.click(".bottom >> text=Menu")
            await menu.locator("text=Overview").click()
            await page.wait_for_url(browser_deployment.settings)
