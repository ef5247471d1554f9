"""From a signup to a workspace: the confirmed address, the checkout without money, and the page after it."""

from typing import Final, cast

from quart import Response, request

from hosts.web.forms import id_of
from hosts.web.frame import Frame, Page
from hosts.web.wording import scope_lines
from service_core.access.signup.apply import Applications
from service_core.access.signup.model import Signup, SignupStatus
from service_core.access.signup.ports import By, Simulated
from service_core.access.signup.settle import Settlement
from service_core.access.signup.welcome import Welcome
from service_core.kernel.errors import Conflict, NotFound, Refusal


async def confirm_address(frame: Frame) -> Response:
    """Go on from a mailed link to the checkout."""
    return frame.away(await frame.part(Applications).verify(request.args.get("token", "")))


async def checkout(frame: Frame, signup_id: str) -> Response:
    """What a person would pay for; nothing is charged."""
    _simulated(frame)
    signup = await _signup(frame, signup_id)
    status = signup.status_at(frame.clock())
    return await frame.page("checkout.html", signup=signup, open=status is SignupStatus.PENDING)


async def pay(frame: Frame, signup_id: str) -> Response:
    """Pay or cancel in test mode."""
    simulated, signup = _simulated(frame), await _signup(frame, signup_id)
    if signup.status_at(frame.clock()) is not SignupStatus.PENDING:
        return frame.to(f"/checkout/{signup_id}")
    settlement = frame.part(Settlement)
    if frame.form.text("decision") != "pay":
        await settlement.receive(simulated.refuse(signup.id, frame.clock()))
        return frame.to("/checkout/canceled")
    if not await settlement.receive(simulated.confirm(signup.id, frame.clock())):
        return frame.to(f"/checkout/{signup_id}")
    token = await frame.part(Welcome).renew(signup.id)
    return frame.to("/welcome", token=token)


async def canceled(frame: Frame) -> Response:
    """What a person sees who did not pay."""
    return await frame.page("canceled.html")


async def welcome(frame: Frame) -> Response:
    """The new workspace, and the key that a program asked for along the way."""
    return await _card(frame, request.args.get("token", ""))


async def decide(frame: Frame) -> Response:
    """Approve or deny that key, once."""
    token = frame.form.text("token")
    try:
        await frame.part(Welcome).decide(token, approve=frame.form.text("decision") == "approve")
    except Conflict as refusal:
        return await _card(frame, token, refusal)
    return await _card(frame, token)


async def _card(frame: Frame, token: str, refusal: Refusal | None = None) -> Response:
    card = await frame.part(Welcome).view(token)
    lines = scope_lines(card.request.scopes) if card.request else []
    return await frame.page("welcome.html", refusal=refusal, card=card, lines=lines, token=token)


def _simulated(frame: Frame) -> Simulated:
    """The checkout, where it is one without money.

    Raises:
        NotFound: people pay elsewhere.
    """
    checkout = frame.service.ports.checkout
    if not hasattr(checkout, "confirm"):
        raise NotFound
    return cast(Simulated, checkout)


async def _signup(frame: Frame, signup_id: str) -> Signup:
    found = await frame.store.find_signup(By.ID, id_of(signup_id).hex)
    if found is None:
        raise NotFound
    return found


PAGES: Final = (
    Page("GET /signup/verify", confirm_address),
    Page("GET /checkout/canceled", canceled),
    Page("GET /checkout/<signup_id>", checkout),
    Page("POST /checkout/<signup_id>", pay),
    Page("GET /welcome", welcome),
    Page("POST /welcome", decide),
)
