"""The first steps of a workspace: the script, the first event once it is stored, and the checklist."""

import pytest

from hosts.web.start import STEPS
from service_core.access.api_keys import create_workspace_with_keys
from service_core.access.members.models import Account, Member
from service_core.access.roles import Role
from service_core.kernel.clock import system_clock
from service_core.kernel.ids import new_id
from service_core.testing.event_builder import EventBuilder
from service_core.workspace.onboarding import NOTHING_OUTSTANDING
from tests.fixtures.browser_deployment import IN_BROWSER
from tests.fixtures.composed_deployment import running_deployment


@pytest.fixture
async def deployment(tmp_path):
    async with running_deployment(tmp_path, {"storage": {"events": "memory://"}}) as deployment:
        yield deployment


async def append_page_view(service, workspace, at, page="/pricing"):
    story = EventBuilder(workspace.id)
    story.add_event("$pageview", at=at, visitor="first-visitor", page_path=page)
    await service.ports.events.append(story.events)


def visible_words(answer):
    return " ".join(answer.text.split())


async def test_start_page_shows_script_and_all_steps_of_an_empty_workspace(deployment):
    ann = await deployment.signed_in("ann", "owner")
    page = await ann.get(f"{deployment.settings}/start")
    words = visible_words(page)
    address = deployment.service.settings.http.effective_ingest_url
    assert f'src="{address}/t.js" data-workspace-id="{deployment.workspace.public_id}"' in words
    assert "Waiting for your first event" in words
    assert words.count("To do:") == len(STEPS)
    assert "Done:" not in words


async def test_steps_are_those_of_the_onboarding_operation(deployment):
    key = deployment.initialized_deployment.agent_key.secret
    _, onboarding = await deployment.api("GET", "/v1/onboarding", key)
    assert onboarding["next_steps"] == [step.sentence for step in STEPS]
    assert NOTHING_OUTSTANDING not in onboarding["next_steps"]


async def test_first_event_is_shown_with_page_moment_and_visitor(deployment):
    ann = await deployment.signed_in("ann", "viewer")
    path = f"{deployment.settings}/start"
    assert "Waiting" in (await ann.get(f"{path}/first-event")).text
    for at, page in (("2026-07-08T14:00:00Z", "/pricing"), ("2026-07-08T14:30:00Z", "/later")):
        await append_page_view(deployment.service, deployment.workspace, at, page)
    for shown in (await ann.get(f"{path}/first-event"), await ann.get(path)):
        words = visible_words(shown)
        assert "Your first event arrived Page view on /pricing · 8 Jul 2026, 14:00:00 (UTC)" in words
        assert "/later" not in words
    assert "Done: Add the script to your site" in visible_words(await ann.get(path))


async def test_unreadable_events_are_said_and_not_shown_as_waiting(tmp_path):
    async with running_deployment(tmp_path) as deployment:  # its event store is not started
        ann = await deployment.signed_in("ann", "owner")
        words = visible_words(await ann.get(f"{deployment.settings}/start"))
        assert (await ann.get(f"{deployment.settings}/start/first-event")).status == 503
    assert "Events cannot be read right now" in words
    assert "Waiting" not in words
    assert "To do:" not in words


async def test_start_page_is_not_found_for_others(deployment):
    await deployment.enrol("eve", "owner", deployment.other)
    eve = await deployment.person().sign_in("eve@example.com")
    for path in ("start", "start/first-event"):
        assert (await eve.get(f"{deployment.settings}/{path}")).status == 404


async def open_new_workspace(browser_deployment):
    """A workspace without events, and an account that owns nothing else."""
    store, now = browser_deployment.store, system_clock()
    opened = await create_workspace_with_keys(store.credentials, now, name="New Shop")
    name = new_id().hex
    owner = Account(new_id(), f"{name}@example.com", name, now)
    await store.accounts.save_account_unless_email_taken(owner)
    membership = Member(opened.workspace.id, owner.id, Role.OWNER, now)
    await store.members.save_member_unless_no_owner_left(membership, now)
    return opened.workspace, owner


class TestInBrowser:
    pytestmark = IN_BROWSER

    async def test_first_event_appears_without_a_reload_by_hand(self, browser_deployment):
        workspace, owner = await open_new_workspace(browser_deployment)
        async with browser_deployment.page(owner, viewport={"width": 390, "height": 800}) as page:
            await page.goto(f"{browser_deployment.app}/w/{workspace.public_id}/start")
            assert await page.evaluate("document.documentElement.scrollWidth") <= 390
            await append_page_view(browser_deployment.service, workspace, "2026-07-01T10:00:00Z")
            await page.wait_for_selector("h2:has-text('Your first event arrived')")
            await page.get_by_role("button", name="Copy").wait_for()

    async def test_expired_session_never_shows_the_sign_in_page_in_the_card(self, browser_deployment):
        workspace, owner = await open_new_workspace(browser_deployment)
        async with browser_deployment.page(owner) as page:
            await page.clock.install()
            await page.goto(f"{browser_deployment.app}/w/{workspace.public_id}/start")
            await page.context.clear_cookies()
            for milliseconds in (2_000, 21_000):
                async with page.expect_response("**/sign-in*"):
                    await page.clock.fast_forward(milliseconds)
            assert "Waiting for your first event" in await page.inner_text("[data-first-event]")
