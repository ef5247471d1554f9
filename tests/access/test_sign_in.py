"""Signing in: sessions, passwords and attempts."""

import pytest

from service_core.access.members.emails import save_and_send_password_link
from service_core.access.members.models import Account
from service_core.kernel.errors import BadRequest, ServiceUnavailable, TooManyRequests, Unauthorized
from service_core.kernel.ids import new_id

PASSWORD = "correct horse battery"


@pytest.fixture
async def account(deployment):
    account = Account(new_id(), "ann@example.com", "Ann", deployment.clock())
    await deployment.store.accounts.save_account_unless_email_taken(account)
    return account


async def create_password_link(deployment, account):
    await save_and_send_password_link(
        deployment.store.accounts,
        deployment.mail,
        account,
        web_url=deployment.WEB,
        now=deployment.clock(),
        first_sentence="You asked for it.",
    )
    return deployment.mail.token()


@pytest.fixture
async def signed_in(deployment, account):
    return await deployment.sign_in.set_password_and_replace_sessions(
        await create_password_link(deployment, account), PASSWORD
    )


async def test_password_link_sets_the_password_once(deployment, account, signed_in):
    assert (await deployment.store.accounts.get_account(account.id)).password != PASSWORD
    with pytest.raises(Unauthorized):
        await deployment.sign_in.set_password_and_replace_sessions(deployment.mail.token(), PASSWORD)
    again = await deployment.sign_in.sign_in_with_password(
        "Ann@Example.com ", PASSWORD, client_prefix="203.0.113.7"
    )
    assert (await deployment.sign_in.find_unexpired_session(again.secret))[1].email == account.email


async def test_password_link_expires_after_24_hours(deployment, account, clock):
    token = await create_password_link(deployment, account)
    clock.advance(hours=24)
    with pytest.raises(Unauthorized):
        await deployment.sign_in.set_password_and_replace_sessions(token, PASSWORD)


async def test_short_password_does_not_consume_the_password_link(deployment, account):
    token = await create_password_link(deployment, account)
    with pytest.raises(BadRequest):
        await deployment.sign_in.set_password_and_replace_sessions(token, "short")
    assert (
        await deployment.sign_in.set_password_and_replace_sessions(token, PASSWORD)
    ).account.id == account.id


@pytest.mark.parametrize(("email", "password"), [("ann@example.com", "wrong"), ("eve@example.com", PASSWORD)])
async def test_wrong_password_and_unknown_address_return_the_same_error(
    deployment, signed_in, email, password
):
    with pytest.raises(Unauthorized) as caught:
        await deployment.sign_in.sign_in_with_password(email, password, client_prefix=None)
    assert caught.value.body() == {"error": "Wrong e-mail address or password"}


async def test_account_without_a_password_cannot_sign_in(deployment, account):
    with pytest.raises(Unauthorized):
        await deployment.sign_in.sign_in_with_password(account.email, "", client_prefix=None)


async def test_session_ends_when_signed_out_and_after_14_days(deployment, signed_in, clock):
    other = await deployment.sign_in.sign_in_with_password("ann@example.com", PASSWORD, client_prefix=None)
    await deployment.sign_in.sign_out(other.secret)
    assert await deployment.sign_in.find_unexpired_session(other.secret) is None
    assert await deployment.sign_in.find_unexpired_session(signed_in.secret) is not None
    clock.advance(days=14)
    assert await deployment.sign_in.find_unexpired_session(signed_in.secret) is None


@pytest.mark.parametrize("secret", [None, "", "x", "A" * 43])
async def test_unknown_session_cookie_is_anonymous(deployment, secret):
    assert await deployment.sign_in.find_unexpired_session(secret) is None


async def test_new_password_ends_every_other_session(deployment, account, signed_in):
    fresh = await deployment.sign_in.set_password_and_replace_sessions(
        await create_password_link(deployment, account), PASSWORD + "!"
    )
    assert await deployment.sign_in.find_unexpired_session(signed_in.secret) is None
    assert await deployment.sign_in.find_unexpired_session(fresh.secret) is not None


async def test_signing_out_other_sessions_keeps_the_current_one_and_other_accounts(
    deployment, account, signed_in
):
    here = await deployment.sign_in.sign_in_with_password("ann@example.com", PASSWORD, client_prefix=None)
    bob = Account(new_id(), "bob@example.com", "Bob", deployment.clock())
    await deployment.store.accounts.save_account_unless_email_taken(bob)
    theirs = await deployment.sign_in.open_session(bob)
    await deployment.sign_in.end_other_sessions(account, here.secret)
    assert await deployment.sign_in.find_unexpired_session(signed_in.secret) is None
    assert await deployment.sign_in.find_unexpired_session(here.secret) is not None
    assert await deployment.sign_in.find_unexpired_session(theirs.secret) is not None


async def test_sign_in_attempts_are_limited_per_address_and_per_client(deployment, signed_in):
    for _ in range(10):
        with pytest.raises(Unauthorized):
            await deployment.sign_in.sign_in_with_password(
                "ann@example.com", "wrong", client_prefix="198.51.100.1"
            )
    with pytest.raises(TooManyRequests) as caught:
        await deployment.sign_in.sign_in_with_password(
            "ann@example.com", PASSWORD, client_prefix="198.51.100.2"
        )
    assert caught.value.headers["Retry-After"] == "900"
    for number in range(20):
        with pytest.raises(Unauthorized):
            await deployment.sign_in.sign_in_with_password(
                f"{number}@example.com", "wrong", client_prefix="198.51.100.1"
            )
    with pytest.raises(TooManyRequests):
        await deployment.sign_in.sign_in_with_password(
            "new@example.com", "wrong", client_prefix="198.51.100.1"
        )


async def test_sign_in_fails_without_the_limit_store(deployment, signed_in):
    deployment.limiter.down = True
    with pytest.raises(ServiceUnavailable):
        await deployment.sign_in.sign_in_with_password("ann@example.com", PASSWORD, client_prefix=None)
