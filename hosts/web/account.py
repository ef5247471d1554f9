"""A person's own account: who is signed in, and the passkeys to sign in with."""

from typing import Final

from quart import Response, current_app

from hosts.web.forms import id_of
from hosts.web.frame import Frame, Page
from service_core.access.mail import MailDown
from service_core.access.members.letters import send_passkey_notice
from service_core.access.members.model import Account
from service_core.access.members.sign_in import SignIn
from service_core.access.passkeys.ceremonies import PasskeySignIn
from service_core.access.passkeys.model import Attested
from service_core.kernel.errors import BadRequest, Conflict, Refusal, TooMany, Unauthorized


async def shown(frame: Frame) -> Response:
    """The account, and its passkeys where the deployment has them."""
    return await _page(frame)


async def asked(frame: Frame) -> Response:
    """What to ask the browser for a new passkey, for its script."""
    try:
        options = await frame.part(PasskeySignIn).ask_to_make(
            frame.account, frame.form.raw("password"), frame.browser
        )
    except (Unauthorized, TooMany) as refusal:
        return frame.refused(refusal)
    return frame.data(options)


async def added(frame: Frame) -> Response:
    """Keep the passkey that the browser has made, and tell its owner by mail."""
    form, account = frame.form, frame.account
    attested = Attested(
        form.octets("client_data"), form.octets("attestation"), frozenset(form.all("transport"))
    )
    try:
        await frame.part(PasskeySignIn).make(
            account, form.text("name"), form.text("challenge"), attested, frame.browser
        )
    except (BadRequest, Unauthorized, Conflict) as refusal:
        return await _page(frame, refusal)
    current_app.add_background_task(_notify, frame, account)
    return frame.to("/account", done="passkey-added")


async def removed(frame: Frame, passkey_id: str) -> Response:
    """Drop a passkey; whoever it let in elsewhere is out."""
    await frame.part(PasskeySignIn).remove(frame.account, id_of(passkey_id), frame.browser)
    return frame.to("/account", done="passkey-removed")


async def signed_out_elsewhere(frame: Frame) -> Response:
    """End every session but this one."""
    await frame.part(SignIn).sign_out_elsewhere(frame.account, frame.visitor.secret)
    return frame.to("/account", done="elsewhere-out")


async def _page(frame: Frame, refusal: Refusal | None = None) -> Response:
    return await frame.page(
        "account.html",
        refusal=refusal,
        passkeys=await frame.store.passkeys(frame.account.id),
        offered=frame.part(PasskeySignIn).is_open,
    )


async def _notify(frame: Frame, account: Account) -> None:
    try:
        await send_passkey_notice(frame.service.ports.mail, account, web_url=frame.web_url)
    except MailDown:
        return


PAGES: Final = (
    Page("GET /account", shown),
    Page("POST /account/passkeys/options", asked),
    Page("POST /account/passkeys", added),
    Page("POST /account/passkeys/<passkey_id>", removed),
    Page("POST /account/sign-out-elsewhere", signed_out_elsewhere),
)
