"""Signing in and out, and another password for whoever has lost it."""

from typing import Final

from quart import Response, current_app, request

from hosts.web.frame import Frame, Page
from hosts.web.safety import inside
from service_core.access.mail import MailDown
from service_core.access.members.enrol import mail_new_link
from service_core.access.members.sign_in import Doorkeeper
from service_core.kernel.errors import BadRequest, Refusal, TooMany, Unauthorized


async def ask(frame: Frame) -> Response:
    """The form to sign in; whoever is signed in already goes on."""
    target = inside(request.args.get("next"))
    if frame.visitor.account is not None:
        return frame.to("/workspaces") if target == "/" else frame.away(frame.base + target)
    return await frame.page("sign_in.html", target=target, email="", wrong=None)


async def sign_in(frame: Frame) -> Response:
    """Open a session."""
    target, email = inside(frame.form.text("next")), frame.form.text("email")
    try:
        opened = await frame.part(Doorkeeper).sign_in(email, frame.form.raw("password"), client=frame.network)
    except (Unauthorized, TooMany) as refusal:
        status = 403 if isinstance(refusal, Unauthorized) else refusal.status
        wrong = _sentence(refusal)
        return await frame.page("sign_in.html", status, target=target, email=email, wrong=wrong)
    onward = frame.to("/workspaces") if target == "/" else frame.away(frame.base + target)
    return frame.admitted(onward, opened)


async def sign_out(frame: Frame) -> Response:
    """End the session."""
    await frame.part(Doorkeeper).sign_out(frame.visitor.secret)
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
    return await frame.page("password.html", token=request.args.get("token", ""), wrong=None)


async def choose_password(frame: Frame) -> Response:
    """Set the password and sign in."""
    token = frame.form.text("token")
    try:
        opened = await frame.part(Doorkeeper).choose_password(token, frame.form.raw("password"))
    except (BadRequest, Unauthorized) as refusal:
        status = 403 if isinstance(refusal, Unauthorized) else refusal.status
        return await frame.page("password.html", status, token=token, wrong=_sentence(refusal))
    return frame.admitted(frame.to("/workspaces"), opened)


def _sentence(refusal: Refusal) -> str:
    if isinstance(refusal, TooMany):
        return "Too many attempts. Wait a quarter of an hour and try again."
    return f"{refusal.message}."


PAGES: Final = (
    Page("GET /sign-in", ask),
    Page("POST /sign-in", sign_in),
    Page("POST /sign-out", sign_out),
    Page("GET /lost-password", lost),
    Page("POST /lost-password", send_link),
    Page("GET /password", choose),
    Page("POST /password", choose_password),
)
