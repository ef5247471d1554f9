"""Passkeys in a real browser, with an authenticator of the browser's own."""

from tests.fixtures.browser_deployment import IN_BROWSER, WATCH
from tests.fixtures.composed_deployment import PASSWORD

pytestmark = IN_BROWSER
DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


async def add_virtual_authenticator(page):
    """Give the browser a device; what is returned says whether it is its owner who uses it."""
    inside = await page.context.new_cdp_session(page)
    await inside.send("WebAuthn.enable")
    device = await inside.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})

    async def verifies(owner):
        await inside.send("WebAuthn.setUserVerified", {**device, "isUserVerified": owner})

    return verifies


async def sign_out(page):
    """Sign out, and go to the button for passkeys by the keyboard."""
    await page.click("text=Sign out")
    await page.wait_for_url("**/sign-in?done=signed-out")
    await page.wait_for_selector("text=Sign in with a passkey")
    for _ in range(20):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement.innerText") == "Sign in with a passkey":
            return
    raise AssertionError("no way to the button")


async def test_passkey_is_created_used_and_removed_with_the_keyboard(browser_deployment):
    async with browser_deployment.page() as page:
        verifies = await add_virtual_authenticator(page)
        await page.add_init_script(WATCH)
        await page.goto(f"{browser_deployment.app}/account")
        await page.focus("[name=name]")
        await page.keyboard.type("Work laptop")
        await page.keyboard.press("Tab")
        await page.keyboard.type("not the password")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("[role=alert]:has-text('This is not your password')")
        await page.fill("[name=password]", PASSWORD)
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/account?done=passkey-added")
        assert "not used yet" in await page.locator("section", has_text="Work laptop").inner_text()
        await page.fill("[name=name]", "Again")
        await page.fill("[name=password]", PASSWORD)
        await page.keyboard.press("Enter")
        await page.wait_for_selector("[role=alert]:has-text('already has one of your passkeys')")

        await sign_out(page)
        await verifies(False)
        await page.keyboard.press("Enter")
        await page.wait_for_selector("[role=alert]:has-text('canceled or took too long')")
        await verifies(True)
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/workspaces")

        await page.goto(f"{browser_deployment.app}/account")
        passkey = page.locator("section", has_text="Work laptop")
        assert "last used" in await passkey.inner_text()
        await passkey.locator("summary").press("Enter")
        await passkey.locator("button").press("Enter")
        await page.wait_for_url("**/account?done=passkey-removed")
        await sign_out(page)
        await page.keyboard.press("Enter")
        await page.wait_for_selector("[role=alert]:has-text('is not registered here')")
        assert await page.evaluate("window.seen") == []


async def test_browser_without_passkey_support_offers_the_password(browser_deployment):
    async with browser_deployment.page(signed_in=False) as page:
        await page.add_init_script("delete window.PublicKeyCredential")
        await page.goto(f"{browser_deployment.app}/sign-in")
        assert not await page.is_visible("text=Sign in with a passkey")
        assert await page.is_visible("[name=password]")
