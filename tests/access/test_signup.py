"""Contract 7.1, S15 and S16: a signup is a wish, and a payment makes one workspace."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from time import process_time

import pytest
from pydantic import ValidationError

from service_core.access.key_requests.create import poll_and_collect_approved_key_once
from service_core.access.key_requests.models import RequestStatus
from service_core.access.members.models import Account
from service_core.access.roles import Role
from service_core.access.signup.create import RequestedKey
from service_core.access.signup.models import (
    CheckoutSession,
    CheckoutUnavailable,
    CheckoutWebhook,
    SignupPayment,
    SignupPaymentState,
    SignupStatus,
)
from service_core.access.signup.ports import SignupLookup
from service_core.access.signup.schemas import SignupBody
from service_core.kernel.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    NotFound,
    ServiceUnavailable,
    TooManyRequests,
)
from service_core.kernel.ids import SIGNUP_SECRET_PATTERN, new_id, new_token, sha256_hex
from tests.fixtures.databases import SQLITE

WISH = RequestedKey("Reader", "to report")


async def find_stored_signup(deployment, applied):
    return await deployment.store.signups.find_signup(SignupLookup.ID, str(applied.signup.id))


async def test_unpaid_signup_creates_no_account_or_workspace(deployment):
    applied = await deployment.sign_up(requested_key=WISH)
    assert SIGNUP_SECRET_PATTERN.fullmatch(applied.secret)
    assert applied.checkout_url == f"{deployment.WEB}/checkout/{applied.signup.id}"
    assert applied.signup.expires_at == deployment.clock() + timedelta(days=7)
    assert applied.key_request.status is RequestStatus.PENDING
    assert await deployment.store.credentials.list_workspaces() == []
    assert await deployment.store.accounts.find_account_by_email("ann@example.com") is None
    assert deployment.mail.messages == []


@pytest.mark.parametrize(
    ("sent", "domain"),
    [
        ("shop.example", "shop.example"),
        ("https://Shop.Example/", "shop.example"),
        ("http://shop.example.", "shop.example"),
        ("https://shop.example./", "shop.example"),
        ("shop.example/path", None),
        ("shop", None),
    ],
)
def test_domain_of_a_signup_is_its_host_alone(sent, domain):
    if domain is None:
        with pytest.raises(ValidationError, match="must be a host name"):
            SignupBody(email="ann@example.com", domain=sent)
    else:
        assert SignupBody(email="ann@example.com", domain=sent).domain == domain


async def test_payment_creates_account_workspace_membership_and_keys(deployment):
    applied = await deployment.sign_up(
        name="Ann", company="Example Ltd", domain="shop.example", timezone="Europe/Berlin", plan="growth"
    )
    assert await deployment.pay(applied)
    signup = await find_stored_signup(deployment, applied)
    (workspace,) = await deployment.store.credentials.list_workspaces()
    assert (signup.status, signup.workspace_id) == (SignupStatus.PAID, workspace.id)
    assert (workspace.name, workspace.domain, workspace.timezone, workspace.plan) == (
        "Example Ltd", "shop.example", "Europe/Berlin", "growth",
    )  # fmt: skip
    account = await deployment.store.accounts.find_account_by_email("ann@example.com")
    assert (await deployment.store.members.get_member(workspace.id, account.id)).role is Role.OWNER
    assert {one.kind.value for one in await deployment.store.credentials.list_keys(workspace.id)} == {
        "write",
        "agent",
    }
    letter = deployment.mail.messages[0]
    assert (letter.to, "Example Ltd" in letter.text) == ("ann@example.com", True)
    assert (
        await deployment.sign_in.set_password_and_replace_sessions(deployment.mail.token(), "correct horse")
    ).account.id == account.id


async def test_signup_of_a_known_address_adds_a_workspace_and_keeps_the_password(deployment):
    known = Account(new_id(), "ann@example.com", "Ann", deployment.clock(), password="$argon2id$…")
    await deployment.store.accounts.save_account_unless_email_taken(known)
    await deployment.pay(await deployment.sign_up())
    await deployment.pay(await deployment.sign_up())
    assert await deployment.store.accounts.find_account_by_email("ann@example.com") == known
    assert len(await deployment.store.members.list_memberships(known.id)) == 2
    assert "token=" not in deployment.mail.messages[0].text


async def test_twenty_concurrent_payment_notices_create_one_workspace(two_deployments):
    one, other = two_deployments
    applied = await one.sign_up(requested_key=WISH)
    order = (await find_stored_signup(one, applied)).order

    async def poll(deployment):
        return await deployment.settlement.record_payment_and_create_workspace_once(
            replace(await deployment.checkout.get_payment(order), state=SignupPaymentState.PAID)
        )

    won = await asyncio.gather(
        *(result for deployment in (one, other) * 5 for result in (deployment.pay(applied), poll(deployment)))
    )
    assert won.count(True) == 1
    (workspace,) = await one.store.credentials.list_workspaces()
    account = await one.store.accounts.find_account_by_email("ann@example.com")
    assert len(await one.store.members.list_members(workspace.id)) == 1
    assert len(await one.store.members.list_memberships(account.id)) == 1
    assert len(await one.store.credentials.list_keys(workspace.id)) == 2
    assert len(one.mail.messages) + len(other.mail.messages) == 1


async def test_two_signups_of_one_address_paid_at_once_share_one_account(two_deployments):
    one, other = two_deployments
    signups = [await one.sign_up(), await one.sign_up()]
    assert await asyncio.gather(one.pay(signups[0]), other.pay(signups[1])) == [True, True]
    account = await one.store.accounts.find_account_by_email("ann@example.com")
    assert len(await one.store.members.list_memberships(account.id)) == 2


async def test_payment_is_accepted_after_cancellation_and_after_expiry(deployment, clock):
    applied = await deployment.sign_up()
    assert not await deployment.settlement.verify_and_record_webhook(
        deployment.checkout.cancel_payment(applied.signup.id, clock())
    )
    assert (await find_stored_signup(deployment, applied)).status is SignupStatus.CANCELED
    clock.advance(days=8)
    assert await deployment.pay(applied)
    assert not await deployment.settlement.verify_and_record_webhook(
        deployment.checkout.cancel_payment(applied.signup.id, clock())
    )
    assert (await find_stored_signup(deployment, applied)).status is SignupStatus.PAID


async def test_unpaid_signup_expires_after_seven_days(deployment, clock):
    applied = await deployment.sign_up()
    clock.advance(days=7)
    assert (await find_stored_signup(deployment, applied)).status_at(clock()) is SignupStatus.EXPIRED


@pytest.mark.parametrize(
    "forge",
    [
        lambda notice: replace(notice, headers={}),
        lambda notice: replace(notice, body=notice.body.replace(b"paid", b"open")),
        lambda notice: replace(notice, received_at=notice.received_at + timedelta(seconds=301)),
        lambda notice: replace(notice, received_at=notice.received_at - timedelta(seconds=301)),
        lambda notice: CheckoutWebhook(b"{}", {"sandbox-signature": "1,é"}, notice.received_at),
    ],
    ids=["unsigned", "altered", "too old", "from the future", "nonsense"],
)
async def test_forged_payment_notice_is_rejected(deployment, clock, forge):
    applied = await deployment.sign_up()
    with pytest.raises(Forbidden) as caught:
        await deployment.settlement.verify_and_record_webhook(
            forge(deployment.checkout.confirm_payment(applied.signup.id, clock()))
        )
    assert caught.value.code == "invalid_signature"
    assert await deployment.store.credentials.list_workspaces() == []


async def test_payment_of_another_deployment_or_of_no_signup_is_ignored(deployment, make_deployment, clock):
    applied = await deployment.sign_up()
    with pytest.raises(Forbidden):
        await deployment.settlement.verify_and_record_webhook(
            make_deployment().checkout.confirm_payment(applied.signup.id, clock())
        )
    assert not await deployment.settlement.verify_and_record_webhook(
        deployment.checkout.confirm_payment(new_id(), clock())
    )
    assert await deployment.store.credentials.list_workspaces() == []


class Late:
    """A checkout whose notice is lost; `state` is what it says when it is asked."""

    def __init__(self):
        self.inner, self.state, self.asked = None, SignupPaymentState.OPEN, 0

    async def create_session(self, order):
        self.order = order
        if self.state is None:
            raise CheckoutUnavailable
        return CheckoutSession(f"order-{order.signup_id}", "https://pay.example")

    async def get_payment(self, order):
        self.asked += 1
        if self.state is None:
            raise CheckoutUnavailable
        return SignupPayment(self.order.signup_id, order, self.state)


async def test_polling_completes_a_signup_whose_notice_was_lost_and_limits_provider_requests(
    make_deployment, clock
):
    checkout = Late()
    deployment = make_deployment(checkout=checkout)
    applied = await deployment.sign_up()
    signup = await find_stored_signup(deployment, applied)
    for _ in range(5):
        assert (
            await deployment.settlement.poll_pending_payment_once_per_10_seconds(signup)
        ).status is SignupStatus.PENDING
    assert checkout.asked == 1
    clock.advance(seconds=10)
    checkout.state = None
    assert (
        await deployment.settlement.poll_pending_payment_once_per_10_seconds(signup)
    ).status is SignupStatus.PENDING
    clock.advance(seconds=10)
    checkout.state = SignupPaymentState.PAID
    assert (
        await deployment.settlement.poll_pending_payment_once_per_10_seconds(signup)
    ).status is SignupStatus.PAID
    assert (
        await deployment.settlement.poll_pending_payment_once_per_10_seconds(
            await find_stored_signup(deployment, applied)
        )
    ).status is SignupStatus.PAID
    assert checkout.asked == 3


async def test_unavailable_checkout_is_reported(make_deployment):
    checkout = Late()
    checkout.state = None
    with pytest.raises(ServiceUnavailable) as caught:
        await make_deployment(checkout=checkout).sign_up()
    assert caught.value.code == "checkout_unavailable"


async def test_signups_are_limited_to_five_per_hour_and_client_or_ipv6_64(deployment, clock):
    for number in range(5):
        await deployment.sign_up(f"{number}@example.com", "2001:db8:1:2::1")
    with pytest.raises(TooManyRequests) as caught:
        await deployment.sign_up("6@example.com", "2001:db8:1:2:ffff::9")
    assert (caught.value.code, caught.value.headers["Retry-After"]) == ("signup_rate_limited", "3600")
    await deployment.sign_up("6@example.com", "2001:db8:1:3::1")
    clock.advance(minutes=59)
    with pytest.raises(TooManyRequests) as caught:
        await deployment.sign_up("7@example.com", "2001:db8:1:2::1")
    assert caught.value.headers["Retry-After"] == "60"
    clock.advance(minutes=1)
    await deployment.sign_up("7@example.com", "2001:db8:1:2::1")


async def test_signups_are_limited_to_three_per_day_and_address(deployment, clock):
    for number in range(3):
        await deployment.sign_up(client=f"198.51.100.{number}")
    with pytest.raises(TooManyRequests) as caught:
        await deployment.sign_up(client="198.51.100.9")
    assert int(caught.value.headers["Retry-After"]) == 9 * 3600
    clock.advance(hours=9)
    await deployment.sign_up(client="198.51.100.9")


async def test_signup_fails_without_the_limit_store(deployment):
    deployment.limiter.down = True
    with pytest.raises(ServiceUnavailable) as caught:
        await deployment.sign_up()
    assert caught.value.code == "limiter_unavailable"


@pytest.mark.parametrize(
    ("field", "value"), [("timezone", "Mars/Olympus"), ("plan", "unlimited"), ("plan", "x")]
)
async def test_signup_for_an_unsellable_plan_is_refused(deployment, field, value):
    with pytest.raises(BadRequest) as caught:
        await deployment.sign_up(**{field: value})
    assert caught.value.field == field


@pytest.mark.parametrize(
    "store_url", [None, SQLITE], ids=["memory", "sqlite"]
)  # a server's own noise is larger
async def test_signup_response_does_not_reveal_whether_the_address_is_known(deployment, clock):
    known = Account(new_id(), "known@example.com", None, deployment.clock())
    await deployment.store.accounts.save_account_unless_email_taken(known)
    spent = {"known": [], "new": []}
    for number in range(60):
        for kind, times in spent.items():
            address = "known@example.com" if kind == "known" else f"{number}@example.com"
            begun = process_time()
            applied = await deployment.sign_up(address, None)
            times.append(process_time() - begun)
            assert applied.signup.status is SignupStatus.PENDING
            clock.advance(days=1)
    fast, slow = sorted(map(min, spent.values()))  # a busy machine makes single ones longer, never shorter
    assert slow - fast < max(0.05 * slow, 0.001)


async def test_verification_mode_mails_a_link_to_the_checkout(make_deployment, clock):
    deployment = make_deployment(mode="verification")
    assert await deployment.sign_up() is None
    assert (deployment.mail.messages[0].to, len(deployment.mail.messages)) == ("ann@example.com", 1)
    url = await deployment.applications.create_checkout_for_verified_email(deployment.mail.token())
    assert url.startswith(f"{deployment.WEB}/checkout/")
    signup = await deployment.store.signups.find_signup(SignupLookup.ID, url.rpartition("/")[2])
    assert await deployment.settlement.verify_and_record_webhook(
        deployment.checkout.confirm_payment(signup.id, clock())
    )
    with pytest.raises(NotFound):
        await deployment.applications.create_checkout_for_verified_email(deployment.mail.token())


@pytest.mark.parametrize("token", ["", "x", "A" * 43])
async def test_unknown_verification_link_is_not_found(make_deployment, token):
    with pytest.raises(NotFound):
        await make_deployment(mode="verification").applications.create_checkout_for_verified_email(token)


async def test_failed_verification_mail_is_reported(make_deployment):
    deployment = make_deployment(mode="verification")
    deployment.mail.down = True
    with pytest.raises(ServiceUnavailable) as caught:
        await deployment.sign_up()
    assert caught.value.code == "mail_unavailable"


async def test_closed_deployment_takes_no_signups(make_deployment):
    with pytest.raises(NotFound):
        await make_deployment(mode="closed").sign_up()


async def test_workspace_is_created_when_the_welcome_mail_fails(deployment):
    applied = await deployment.sign_up()
    deployment.mail.down = True
    assert await deployment.pay(applied)


async def find_welcome_token(deployment, applied):
    return await deployment.welcome.create_link(applied.signup.id)


async def test_key_request_of_a_signup_is_decided_through_the_welcome_link(deployment, clock):
    applied = await deployment.sign_up(requested_key=WISH)
    clock.advance(days=3)
    token = await find_welcome_token(deployment, applied)
    with pytest.raises(NotFound):
        await deployment.welcome.decide_key_request(token, approve=True)
    await deployment.pay(applied)
    card = await deployment.welcome.view_page_of_welcome_link(token)
    assert (card.workspace.name, card.status, card.request.name) == ("My workspace", "pending", "Reader")
    assert card.request.expires_at == clock() + timedelta(hours=24)
    await deployment.welcome.decide_key_request(token, approve=True)
    request, minted = await poll_and_collect_approved_key_once(
        deployment.store.key_requests, applied.key_request.id, applied.signup.id, card.workspace, clock()
    )
    assert (request.status, minted.credential.workspace_id) == (RequestStatus.COLLECTED, card.workspace.id)
    with pytest.raises(Conflict):
        await deployment.welcome.decide_key_request(token, approve=False)


async def test_key_request_of_a_signup_is_listed_for_the_owner_and_expires_after_a_day(deployment, clock):
    applied = await deployment.sign_up(requested_key=WISH)
    await deployment.pay(applied)
    (workspace,) = await deployment.store.credentials.list_workspaces()
    assert [one.id for one in await deployment.store.key_requests.list_pending_requests(workspace.id)] == [
        applied.key_request.id
    ]
    token = await find_welcome_token(deployment, applied)
    clock.advance(hours=24)
    assert (await deployment.welcome.view_page_of_welcome_link(token)).status is RequestStatus.EXPIRED
    with pytest.raises(Conflict):
        await deployment.welcome.decide_key_request(token, approve=True)


async def test_new_welcome_link_invalidates_the_previous_one(deployment):
    applied = await deployment.sign_up(requested_key=WISH)
    former, present = (
        await find_welcome_token(deployment, applied),
        await find_welcome_token(deployment, applied),
    )
    assert (await deployment.welcome.view_page_of_welcome_link(present)).workspace is None
    for token in (former, "x", new_token()):
        with pytest.raises(NotFound):
            await deployment.welcome.view_page_of_welcome_link(token)


async def test_signup_is_found_only_by_the_digest_of_its_secret(deployment):
    applied = await deployment.sign_up()
    assert (
        await deployment.store.signups.find_signup(SignupLookup.SECRET, sha256_hex(applied.secret))
    ).id == applied.signup.id
    assert await deployment.store.signups.find_signup(SignupLookup.SECRET, sha256_hex(new_token())) is None
    assert await deployment.store.signups.find_signup(SignupLookup.ID, new_id().hex) is None
