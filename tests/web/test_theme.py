"""The theme a browser chose, on every page from the first paint on; the icon and previews of pages."""

import pytest

from tests.fixtures.browser_deployment import IN_BROWSER


async def test_chosen_theme_is_drawn_by_the_server_until_it_is_given_up(deployment):
    person = deployment.person()
    assert "data-theme" not in (await person.get("/app/sign-in")).body
    for theme in ("dark", "light"):
        fields = {"csrf": await person.token("/app/sign-in"), "theme": theme}
        page = "http://localhost/app/sign-in?next=/account"
        answer = await person.post("/app/theme", fields, Referer=page)
        assert (answer.status, answer.location) == (303, "/app/sign-in?next=/account")
        page = (await person.get("/app/sign-in")).body
        assert f'<html lang="en" data-theme="{theme}">' in page
        assert f'name="color-scheme" content="{theme}"' in page
        assert f'value="{theme}" aria-pressed="true"' in page
    await person.send("/app/sign-in", "/app/theme", theme="system")
    assert "data-theme" not in (await person.get("/app/sign-in")).body


@pytest.mark.parametrize("theme", ["", "blue", '"><script>'])
async def test_unknown_theme_is_refused_and_never_drawn(deployment, theme):
    person = deployment.person()
    assert (await person.send("/app/sign-in", "/app/theme", theme=theme)).status == 400
    person.client.set_cookie("localhost", "touchpoint-theme", "blue")
    assert "data-theme" not in (await person.get("/app/sign-in")).body


async def test_theme_form_leads_to_no_other_site(deployment):
    person = deployment.person()
    fields = {"csrf": await person.token("/app/sign-in"), "theme": "dark"}
    for page in (
        "http://localhost//evil.example",
        "http://localhost/app//evil.example",
        "https://",
        "",
        "a\\b",
    ):
        assert (await person.post("/app/theme", fields, Referer=page)).location == "/app/"


async def test_every_page_names_an_icon_that_is_served(deployment):
    person = deployment.person()
    assert 'rel="icon" href="/app/static/favicon.svg"' in (await person.get("/app/sign-in")).body
    icon = await person.get("/app/static/favicon.svg")
    assert (icon.status, icon.headers["Content-Type"].partition(";")[0]) == (200, "image/svg+xml")


class TestInBrowser:
    pytestmark = IN_BROWSER

    @pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
    async def test_theme_switch_wins_over_the_system_and_stays(self, browser_deployment, scripts):
        colour = "getComputedStyle(document.body).backgroundColor"
        options = {"color_scheme": "light", "java_script_enabled": scripts}
        async with browser_deployment.page(**options) as page:
            await page.goto(f"{browser_deployment.settings}/audit")
            light = await page.evaluate(colour)
            await page.click(".side .theme button[value=dark]")
            await page.wait_for_selector("html[data-theme=dark]")
            dark = await page.evaluate(colour)
            await page.goto(f"{browser_deployment.app}/account")
            assert [await page.evaluate(colour), dark != light] == [dark, True]

    async def test_theme_form_is_sent_with_its_choice_when_the_script_cannot_send_it(
        self, browser_deployment
    ):
        async with browser_deployment.page(color_scheme="light") as page:
            await page.goto(f"{browser_deployment.settings}/audit")

            async def refuse_script_requests(route):
                await (route.abort() if route.request.resource_type == "fetch" else route.continue_())

            await page.route("**/theme", refuse_script_requests)
            await page.click(".side .theme button[value=dark]")
            await page.wait_for_selector("html[data-theme=dark]")
            cookies = {cookie["name"]: cookie["value"] for cookie in await page.context.cookies()}
            assert cookies["touchpoint-theme"] == "dark"
