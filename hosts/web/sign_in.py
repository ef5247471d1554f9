"""Signing in and out, and another password for whoever has lost it."""

from typing import Final

from quart import Response, current_app, request

from hosts.web.frame import Frame, Page
from hosts.web.safety import inside
from service_core.access.mail import MailDown
from service_core.access.members.enrol import mail_new_link
from service_core.access.members.sign_in import SignedIn, SignIn
from service_core.access.passkeys.ceremonies import PasskeySignIn
from service_core.access.passkeys.model import Asserted
from service_core.kernel.errors import BadRequest, Refusal, TooMany, Unauthorized


async def ask(frame: Frame) -> Response:
    """The form to sign in; whoever is signed in already goes on."""
    target = inside(request.args.get("next"))
    if frame.visitor.account is not None:
        return _onward(frame, target)
    return await _form(frame, target)


async def sign_in(frame: Frame) -> Response:
    """Open a session for a password."""
    target, email = inside(frame.form.text("next")), frame.form.text("email")
    try:
        opened = await frame.part(SignIn).sign_in(email, frame.form.raw("password"), client=frame.network)
    except (Unauthorized, TooMany) as refusal:
        return await _form(frame, target, email, refusal)
    return _admitted(frame, target, opened)


async def ask_passkey(frame: Frame) -> Response:
    """What to ask the browser for, for its script."""
    try:
        return frame.data(await frame.part(PasskeySignIn).ask_to_sign(frame.browser))
    except TooMany as refusal:
        return frame.refused(refusal)


async def sign_in_by_passkey(frame: Frame) -> Response:
    """Open a session for a passkey."""
    form, target = frame.form, inside(frame.form.text("next"))
    asserted = Asserted(
        credential_id=form.octets("credential_id"),
        user=form.octets("user"),
        client_data=form.octets("client_data"),
        authenticator_data=form.octets("authenticator_data"),
        signature=form.octets("signature"),
    )
    try:
        opened = await frame.part(PasskeySignIn).sign_in(form.text("challenge"), asserted, frame.browser)
    except (Unauthorized, TooMany) as refusal:
        return await _form(frame, target, refusal=refusal)
    return _admitted(frame, target, opened)


async def sign_out(frame: Frame) -> Response:
    """End the session."""
    await frame.part(SignIn).sign_out(frame.visitor.secret)
    return frame.forgotten(frame.to("/sign-in", done="signed-out"))


async def lost(frame: Frame) -> Response:
    """The form to ask for another password."""
    return await frame.page("lost.html", sent=False)


async def send_link(frame: Frame) -> Response:
    """Mail a link if the address has an account; the answer comes first, so it tells nothing."""
    ports, email = frame.service.ports, frame.form.text("email")

    async def send() -> None:
        try:
            await mail_new_link(
                ports.workspace, ports.mail, ports.limits, email, web_url=frame.web_url, now=ports.clock()
            )
        except MailDown:
            return

    current_app.add_background_task(send)
    return await frame.page("lost.html", sent=True)


async def choose(frame: Frame) -> Response:
    """The form behind a mailed link."""
    return await frame.page("password.html", token=request.args.get("token", ""))


async def choose_password(frame: Frame) -> Response:
    """Set the password and sign in."""
    token = frame.form.text("token")
    try:
        opened = await frame.part(SignIn).choose_password(token, frame.form.raw("password"))
    except (BadRequest, Unauthorized) as refusal:
        return await frame.page("password.html", refusal=refusal, token=token)
    return _admitted(frame, "/", opened)


async def _form(frame: Frame, target: str, email: str = "", refusal: Refusal | None = None) -> Response:
    offered = frame.part(PasskeySignIn).is_open
    return await frame.page("sign_in.html", refusal=refusal, target=target, email=email, passkeys=offered)


def _admitted(frame: Frame, target: str, opened: SignedIn) -> Response:
    return frame.admitted(_onward(frame, target), opened)


def _onward(frame: Frame, target: str) -> Response:
    return frame.to("/workspaces") if target == "/" else frame.away(frame.base + target)


PAGES: Final = (
    Page("GET /sign-in", ask),
    Page("POST /sign-in", sign_in),
    Page("POST /sign-in/passkey/options", ask_passkey),
    Page("POST /sign-in/passkey", sign_in_by_passkey),
    Page("POST /sign-out", sign_out),
    Page("GET /lost-password", lost),
    Page("POST /lost-password", send_link),
    Page("GET /password", choose),
    Page("POST /password", choose_password),
)
