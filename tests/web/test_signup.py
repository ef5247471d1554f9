"""Signing up without money: the checkout page, the workspace it brings, and the card of the key that rode along."""

import asyncio


async def submit_signup(deployment, **more):
    body = {"email": "new@example.com", "workspace_name": "New Shop", **more}
    status, result = await deployment.api("POST", "/v1/signup", None, body)
    assert status == 202, result
    return result


def url_path(url):
    return "/app" + url.split("/app", 1)[1]


async def test_sandbox_payment_creates_the_workspace_and_shows_its_key_request(deployment):
    result = await submit_signup(deployment, key_request={"name": "Setup helper", "reason": "To set you up"})
    person, checkout = deployment.person(), url_path(result["checkout_url"])
    assert "no real payment" in (await person.get(checkout)).text
    paid = await person.send(checkout, checkout, decision="pay")
    assert paid.location.startswith("/app/welcome?token=")
    shown = await person.get(paid.location)
    for part in ("New Shop", "Setup helper", "To set you up", "service:read"):
        assert part in shown.text
    token = paid.location.partition("=")[2]
    approved = await person.send(paid.location, "/app/welcome", token=token, decision="approve")
    assert "approved" in approved.text
    request = result["key_request"]["request_id"]
    _, poll = await deployment.api("GET", f"/v1/keys/requests/{request}", result["signup_secret"])
    assert (await deployment.api("GET", "/v1/workspace", poll["key"]))[1]["name"] == "New Shop"
    [letter] = deployment.messages
    assert letter.to == "new@example.com"


async def test_twenty_concurrent_payments_create_one_workspace(deployment):
    result = await submit_signup(deployment)
    person, checkout = deployment.person(), url_path(result["checkout_url"])
    fields = {"csrf": await person.token(checkout), "decision": "pay"}
    answers = await asyncio.gather(*(person.post(checkout, fields) for _ in range(20)))
    assert sum("/welcome" in answer.location for answer in answers) == 1
    assert len(await deployment.store.credentials.list_workspaces()) == 3
    assert len(deployment.messages) == 1


async def test_canceled_order_creates_nothing(deployment):
    result = await submit_signup(deployment)
    person, checkout = deployment.person(), url_path(result["checkout_url"])
    canceled = await person.send(checkout, checkout, decision="cancel")
    assert "You were not charged" in (await person.get(canceled.location)).text
    assert "closed" in (await person.get(checkout)).text
    assert len(await deployment.store.credentials.list_workspaces()) == 2


async def test_unknown_orders_and_links_are_not_found(deployment):
    person = deployment.person()
    for path in (
        "/app/checkout/x",
        "/app/checkout/01a1fc5c-0972-78a1-8385-e3ed624276e5",
        "/app/welcome?token=x",
    ):
        assert (await person.get(path)).status == 404
