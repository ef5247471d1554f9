"""Accounts and sessions: who gets in, who does not, and what both are told."""

from hosts.composition.ports import start_adapters
from tests.fixtures.composed_deployment import PASSWORD, ManualClock, compose_deployment, create_application


async def test_password_opens_a_session_that_signing_out_ends(deployment):
    person = await deployment.signed_in("ann", "owner")
    assert "ann@example.com" in (await person.get("/app/workspaces")).text
    cookies = list(person.client.cookie_jar)
    await person.send("/app/workspaces", "/app/sign-out")
    assert (await person.get("/app/workspaces")).location.startswith("/app/sign-in")
    for cookie in cookies:
        person.client.set_cookie("localhost", cookie.name, cookie.value)
    assert (await person.get("/app/workspaces")).status == 303


async def test_signing_out_other_sessions_keeps_the_current_one(deployment):
    ann = await deployment.signed_in("ann", "owner")
    elsewhere = await deployment.person().sign_in("ann@example.com")
    bob = await deployment.signed_in("bob", "viewer")
    answer = await ann.send("/app/account", "/app/account/sign-out-elsewhere")
    assert answer.location == "/app/account?done=elsewhere-out"
    assert (await elsewhere.get("/app/account")).location.startswith("/app/sign-in")
    assert {(await person.get("/app/account")).status for person in (ann, bob)} == {200}


async def test_wrong_password_and_unknown_address_return_the_same_page(deployment):
    await deployment.enrol("ann", "owner")
    reported = []
    for email in ("ann@example.com", "nobody@example.com"):
        answer = await deployment.person().send(
            "/app/sign-in", "/app/sign-in", email=email, password="not the password"
        )
        assert answer.status == 403
        reported.append(answer.text.replace(email, "").replace("value", ""))
    assert reported[0] == reported[1]


async def test_sign_in_attempts_are_limited_to_ten_per_address(deployment):
    await deployment.enrol("ann", "owner")
    person = deployment.person()
    for _ in range(10):
        answer = await person.send("/app/sign-in", "/app/sign-in", email="ann@example.com", password="wrong")
        assert answer.status == 403
    answer = await person.send("/app/sign-in", "/app/sign-in", email="ann@example.com", password=PASSWORD)
    assert answer.status == 429
    deployment.clock.advance(minutes=16)
    await person.sign_in("ann@example.com")


async def test_session_ends_after_two_weeks(deployment):
    person = await deployment.signed_in("ann", "owner")
    deployment.clock.advance(days=13, hours=23)
    assert (await person.get("/app/workspaces")).status == 200
    deployment.clock.advance(hours=2)
    assert (await person.get("/app/workspaces")).status == 303


async def test_session_fixation_is_prevented(deployment):
    await deployment.enrol("ann", "owner")
    person = deployment.person()
    person.client.set_cookie("localhost", "touchpoint", "A" * 43)
    await person.sign_in("ann@example.com")
    values = [cookie.value for cookie in person.client.cookie_jar]
    assert "A" * 43 not in values


async def test_lost_password_is_replaced_by_mail_and_other_sessions_end(deployment):
    old = await deployment.signed_in("ann", "owner")
    person = deployment.person()
    async with deployment.app.test_app():
        known = await person.send("/app/lost-password", "/app/lost-password", email="Ann@Example.com ")
        unknown = await person.send("/app/lost-password", "/app/lost-password", email="nobody@example.com")
    assert known.body == unknown.body
    [letter] = deployment.messages
    assert letter.to == "ann@example.com"
    path = "/app" + letter.text.split("/app", 1)[1].split()[0]
    token = path.partition("=")[2]
    short = await person.send(path, "/app/password", token=token, password="short")
    assert short.status == 400
    done = await person.send(path, "/app/password", token=token, password="another long password")
    assert done.status == 303
    again = await person.send(path, "/app/password", token=token, password="a third long password")
    assert again.status == 403
    assert (await old.get("/app/workspaces")).status == 303
    await deployment.person().sign_in("ann@example.com", "another long password")


async def test_password_mails_are_limited_to_three_per_hour(deployment):
    await deployment.enrol("ann", "owner")
    person = deployment.person()
    async with deployment.app.test_app():
        for _ in range(5):
            await person.send("/app/lost-password", "/app/lost-password", email="ann@example.com")
    assert len(deployment.messages) == 3


async def test_cookies_are_secure_on_https(tmp_path):
    service, _ = compose_deployment(
        tmp_path, clock=ManualClock(), settings={"http": {"root_url": "https://t.example"}}
    )
    async with start_adapters([service.ports.workspace]):
        answer = await create_application(service).test_client().get("/app/sign-in")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("__Host-touchpoint=")
    assert "Secure" in cookie
    assert "Path=/;" in cookie
    assert "Domain" not in cookie


async def test_separate_application_url_is_used_in_links(tmp_path):
    service, _ = compose_deployment(
        tmp_path, clock=ManualClock(), settings={"http": {"app_url": "https://people.example"}}
    )
    async with start_adapters([service.ports.workspace]):
        answer = await create_application(service).test_client().get("/app/workspaces")
        page = await create_application(service).test_client().get("/app/sign-in")
    assert answer.headers["Location"] == "/sign-in?next=%2Fworkspaces"
    assert 'action="/sign-in"' in await page.get_data(as_text=True)
