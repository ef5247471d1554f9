"""Contract 7.1, S15 and S16: a signup is a wish, and a payment makes one workspace."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from time import process_time

import pytest

from service_core.access.key_requests.create import poll_key_request
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


async def stored(house, applied):
    return await house.store.signups.find_signup(SignupLookup.ID, str(applied.signup.id))


async def test_a_signup_makes_nothing_but_itself(house):
    applied = await house.sign_up(requested_key=WISH)
    assert SIGNUP_SECRET_PATTERN.fullmatch(applied.secret)
    assert applied.checkout_url == f"{house.WEB}/checkout/{applied.signup.id}"
    assert applied.signup.expires_at == house.clock() + timedelta(days=7)
    assert applied.key_request.status is RequestStatus.PENDING
    assert await house.store.credentials.list_workspaces() == []
    assert await house.store.accounts.find_account_by_email("ann@example.com") is None
    assert house.mail.letters == []


async def test_a_payment_makes_account_workspace_membership_and_keys(house):
    applied = await house.sign_up(
        name="Ann", company="Example Ltd", domain="shop.example", timezone="Europe/Berlin", plan="growth"
    )
    assert await house.pay(applied)
    signup = await stored(house, applied)
    (workspace,) = await house.store.credentials.list_workspaces()
    assert (signup.status, signup.workspace_id) == (SignupStatus.PAID, workspace.id)
    assert (workspace.name, workspace.domain, workspace.timezone, workspace.plan) == (
        "Example Ltd", "shop.example", "Europe/Berlin", "growth",
    )  # fmt: skip
    account = await house.store.accounts.find_account_by_email("ann@example.com")
    assert (await house.store.members.get_member(workspace.id, account.id)).role is Role.OWNER
    assert {one.kind.value for one in await house.store.credentials.list_keys(workspace.id)} == {
        "write",
        "agent",
    }
    letter = house.mail.letters[0]
    assert (letter.to, "Example Ltd" in letter.text) == ("ann@example.com", True)
    assert (
        await house.sign_in.set_password_by_link(house.mail.token(), "correct horse")
    ).account.id == account.id


async def test_a_known_address_gets_one_more_workspace_and_keeps_its_password(house):
    known = Account(new_id(), "ann@example.com", "Ann", house.clock(), password="$argon2id$…")
    await house.store.accounts.save_account(known)
    await house.pay(await house.sign_up())
    await house.pay(await house.sign_up())
    assert await house.store.accounts.find_account_by_email("ann@example.com") == known
    assert len(await house.store.members.list_memberships(known.id)) == 2
    assert "token=" not in house.mail.letters[0].text


async def test_the_same_payment_told_20_times_at_once_makes_one_workspace(houses):
    one, other = houses
    applied = await one.sign_up(requested_key=WISH)
    order = (await stored(one, applied)).order

    async def poll(house):
        return await house.settlement.record_payment(
            replace(await house.checkout.get_payment(order), state=SignupPaymentState.PAID)
        )

    won = await asyncio.gather(
        *(told for house in (one, other) * 5 for told in (house.pay(applied), poll(house)))
    )
    assert won.count(True) == 1
    (workspace,) = await one.store.credentials.list_workspaces()
    account = await one.store.accounts.find_account_by_email("ann@example.com")
    assert len(await one.store.members.list_members(workspace.id)) == 1
    assert len(await one.store.members.list_memberships(account.id)) == 1
    assert len(await one.store.credentials.list_keys(workspace.id)) == 2
    assert len(one.mail.letters) + len(other.mail.letters) == 1


async def test_two_signups_of_one_address_paid_at_once_share_one_account(houses):
    one, other = houses
    signups = [await one.sign_up(), await one.sign_up()]
    assert await asyncio.gather(one.pay(signups[0]), other.pay(signups[1])) == [True, True]
    account = await one.store.accounts.find_account_by_email("ann@example.com")
    assert len(await one.store.members.list_memberships(account.id)) == 2


async def test_a_payment_counts_after_the_cancellation_and_after_the_week(house, clock):
    applied = await house.sign_up()
    assert not await house.settlement.receive_webhook(
        house.checkout.cancel_payment(applied.signup.id, clock())
    )
    assert (await stored(house, applied)).status is SignupStatus.CANCELED
    clock.advance(days=8)
    assert await house.pay(applied)
    assert not await house.settlement.receive_webhook(
        house.checkout.cancel_payment(applied.signup.id, clock())
    )
    assert (await stored(house, applied)).status is SignupStatus.PAID


async def test_an_unpaid_signup_expires_after_seven_days(house, clock):
    applied = await house.sign_up()
    clock.advance(days=7)
    assert (await stored(house, applied)).status_at(clock()) is SignupStatus.EXPIRED


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
async def test_a_forged_notice_makes_nothing(house, clock, forge):
    applied = await house.sign_up()
    with pytest.raises(Forbidden) as caught:
        await house.settlement.receive_webhook(
            forge(house.checkout.confirm_payment(applied.signup.id, clock()))
        )
    assert caught.value.code == "invalid_signature"
    assert await house.store.credentials.list_workspaces() == []


async def test_a_payment_of_another_deployment_and_of_nothing_make_nothing(house, another, clock):
    applied = await house.sign_up()
    with pytest.raises(Forbidden):
        await house.settlement.receive_webhook(another().checkout.confirm_payment(applied.signup.id, clock()))
    assert not await house.settlement.receive_webhook(house.checkout.confirm_payment(new_id(), clock()))
    assert await house.store.credentials.list_workspaces() == []


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


async def test_a_poll_makes_up_for_a_lost_notice_and_spares_the_checkout(another, clock):
    checkout = Late()
    house = another(checkout=checkout)
    applied = await house.sign_up()
    signup = await stored(house, applied)
    for _ in range(5):
        assert (await house.settlement.refresh_payment(signup)).status is SignupStatus.PENDING
    assert checkout.asked == 1
    clock.advance(seconds=10)
    checkout.state = None
    assert (await house.settlement.refresh_payment(signup)).status is SignupStatus.PENDING
    clock.advance(seconds=10)
    checkout.state = SignupPaymentState.PAID
    assert (await house.settlement.refresh_payment(signup)).status is SignupStatus.PAID
    assert (await house.settlement.refresh_payment(await stored(house, applied))).status is SignupStatus.PAID
    assert checkout.asked == 3


async def test_a_checkout_that_is_away_is_said(another):
    checkout = Late()
    checkout.state = None
    with pytest.raises(ServiceUnavailable) as caught:
        await another(checkout=checkout).sign_up()
    assert caught.value.code == "checkout_unavailable"


async def test_five_signups_an_hour_from_one_client_and_a_64_is_one_client(house, clock):
    for number in range(5):
        await house.sign_up(f"{number}@example.com", "2001:db8:1:2::1")
    with pytest.raises(TooManyRequests) as caught:
        await house.sign_up("6@example.com", "2001:db8:1:2:ffff::9")
    assert (caught.value.code, caught.value.headers["Retry-After"]) == ("signup_rate_limited", "3600")
    await house.sign_up("6@example.com", "2001:db8:1:3::1")
    clock.advance(minutes=59)
    with pytest.raises(TooManyRequests) as caught:
        await house.sign_up("7@example.com", "2001:db8:1:2::1")
    assert caught.value.headers["Retry-After"] == "60"
    clock.advance(minutes=1)
    await house.sign_up("7@example.com", "2001:db8:1:2::1")


async def test_three_signups_a_day_of_one_address(house, clock):
    for number in range(3):
        await house.sign_up(client=f"198.51.100.{number}")
    with pytest.raises(TooManyRequests) as caught:
        await house.sign_up(client="198.51.100.9")
    assert int(caught.value.headers["Retry-After"]) == 9 * 3600
    clock.advance(hours=9)
    await house.sign_up(client="198.51.100.9")


async def test_without_the_limit_store_nobody_signs_up(house):
    house.limiter.down = True
    with pytest.raises(ServiceUnavailable) as caught:
        await house.sign_up()
    assert caught.value.code == "limiter_unavailable"


@pytest.mark.parametrize(
    ("field", "value"), [("timezone", "Mars/Olympus"), ("plan", "unlimited"), ("plan", "x")]
)
async def test_what_cannot_be_sold_is_refused(house, field, value):
    with pytest.raises(BadRequest) as caught:
        await house.sign_up(**{field: value})
    assert caught.value.field == field


@pytest.mark.parametrize(
    "store_url", [None, SQLITE], ids=["memory", "sqlite"]
)  # a server's own noise is larger
async def test_a_known_address_is_answered_alike_and_as_fast(house, clock):
    known = Account(new_id(), "known@example.com", None, house.clock())
    await house.store.accounts.save_account(known)
    spent = {"known": [], "new": []}
    for number in range(60):
        for kind, times in spent.items():
            address = "known@example.com" if kind == "known" else f"{number}@example.com"
            begun = process_time()
            applied = await house.sign_up(address, None)
            times.append(process_time() - begun)
            assert applied.signup.status is SignupStatus.PENDING
            clock.advance(days=1)
    fast, slow = sorted(map(min, spent.values()))  # a busy machine makes single ones longer, never shorter
    assert slow - fast < max(0.05 * slow, 0.001)


async def test_the_verification_variant_mails_a_link_to_the_checkout(another, clock):
    house = another(mode="verification")
    assert await house.sign_up() is None
    assert (house.mail.letters[0].to, len(house.mail.letters)) == ("ann@example.com", 1)
    url = await house.applications.verify_email(house.mail.token())
    assert url.startswith(f"{house.WEB}/checkout/")
    signup = await house.store.signups.find_signup(SignupLookup.ID, url.rpartition("/")[2])
    assert await house.settlement.receive_webhook(house.checkout.confirm_payment(signup.id, clock()))
    with pytest.raises(NotFound):
        await house.applications.verify_email(house.mail.token())


@pytest.mark.parametrize("token", ["", "x", "A" * 43])
async def test_an_unknown_verification_link_leads_nowhere(another, token):
    with pytest.raises(NotFound):
        await another(mode="verification").applications.verify_email(token)


async def test_a_verification_mail_that_cannot_leave_is_said(another):
    house = another(mode="verification")
    house.mail.down = True
    with pytest.raises(ServiceUnavailable) as caught:
        await house.sign_up()
    assert caught.value.code == "mail_unavailable"


async def test_a_closed_deployment_takes_no_signups(another):
    with pytest.raises(NotFound):
        await another(mode="closed").sign_up()


async def test_a_workspace_exists_though_its_mail_could_not_leave(house):
    applied = await house.sign_up()
    house.mail.down = True
    assert await house.pay(applied)


async def welcomed(house, applied):
    return await house.welcome.create_link(applied.signup.id)


async def test_the_card_of_the_key_is_decided_after_payment_by_the_welcome_link(house, clock):
    applied = await house.sign_up(requested_key=WISH)
    clock.advance(days=3)
    token = await welcomed(house, applied)
    with pytest.raises(NotFound):
        await house.welcome.decide_key_request(token, approve=True)
    await house.pay(applied)
    card = await house.welcome.view_page(token)
    assert (card.workspace.name, card.status, card.request.name) == ("My workspace", "pending", "Reader")
    assert card.request.expires_at == clock() + timedelta(hours=24)
    await house.welcome.decide_key_request(token, approve=True)
    request, minted = await poll_key_request(
        house.store.key_requests, applied.key_request.id, applied.signup.id, card.workspace, clock()
    )
    assert (request.status, minted.credential.workspace_id) == (RequestStatus.COLLECTED, card.workspace.id)
    with pytest.raises(Conflict):
        await house.welcome.decide_key_request(token, approve=False)


async def test_an_owner_sees_the_card_among_what_waits_and_it_expires_a_day_after_payment(house, clock):
    applied = await house.sign_up(requested_key=WISH)
    await house.pay(applied)
    (workspace,) = await house.store.credentials.list_workspaces()
    assert [one.id for one in await house.store.key_requests.list_pending_requests(workspace.id)] == [
        applied.key_request.id
    ]
    token = await welcomed(house, applied)
    clock.advance(hours=24)
    assert (await house.welcome.view_page(token)).status is RequestStatus.EXPIRED
    with pytest.raises(Conflict):
        await house.welcome.decide_key_request(token, approve=True)


async def test_a_new_welcome_link_ends_the_former_one(house):
    applied = await house.sign_up(requested_key=WISH)
    former, present = await welcomed(house, applied), await welcomed(house, applied)
    assert (await house.welcome.view_page(present)).workspace is None
    for token in (former, "x", new_token()):
        with pytest.raises(NotFound):
            await house.welcome.view_page(token)


async def test_the_secret_of_a_signup_is_found_by_its_digest_alone(house):
    applied = await house.sign_up()
    assert (
        await house.store.signups.find_signup(SignupLookup.SECRET, sha256_hex(applied.secret))
    ).id == applied.signup.id
    assert await house.store.signups.find_signup(SignupLookup.SECRET, sha256_hex(new_token())) is None
    assert await house.store.signups.find_signup(SignupLookup.ID, new_id().hex) is None
