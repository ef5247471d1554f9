"""From a signup to a workspace: the confirmed address, the checkout without money, and the page after it."""

from typing import Final, cast

from quart import Response, request

from hosts.web.forms import parse_id
from hosts.web.labels import label_scopes
from hosts.web.page_context import Page, PageContext
from service_core.access.signup.create import SignupCreator
from service_core.access.signup.models import Signup, SignupStatus
from service_core.access.signup.payment_page import PaymentPage
from service_core.access.signup.payments import SignupPayments
from service_core.access.signup.ports import SandboxCheckout, SignupLookup
from service_core.kernel.errors import ApiError, Conflict, NotFound


async def confirm_address(frame: PageContext) -> Response:
    """Go on from a mailed link to the checkout."""
    return frame.redirect_external(
        await frame.component(SignupCreator).verify_email(request.args.get("token", ""))
    )


async def show_checkout(frame: PageContext, signup_id: str) -> Response:
    """What a person would pay for; nothing is charged."""
    _simulated_checkout(frame)
    signup = await _find_signup(frame, signup_id)
    status = signup.status_at(frame.clock())
    return await frame.render_page("checkout.html", signup=signup, open=status is SignupStatus.PENDING)


async def answer_checkout(frame: PageContext, signup_id: str) -> Response:
    """Pay or cancel in test mode."""
    simulated, signup = _simulated_checkout(frame), await _find_signup(frame, signup_id)
    if signup.status_at(frame.clock()) is not SignupStatus.PENDING:
        return frame.redirect_to(f"/checkout/{signup_id}")
    settlement = frame.component(SignupPayments)
    if frame.form.text("decision") != "pay":
        await settlement.receive_webhook(simulated.cancel_payment(signup.id, frame.clock()))
        return frame.redirect_to("/checkout/canceled")
    if not await settlement.receive_webhook(simulated.confirm_payment(signup.id, frame.clock())):
        return frame.redirect_to(f"/checkout/{signup_id}")
    token = await frame.component(PaymentPage).create_link(signup.id)
    return frame.redirect_to("/welcome", token=token)


async def show_canceled(frame: PageContext) -> Response:
    """What a person sees who did not pay."""
    return await frame.render_page("canceled.html")


async def show_welcome(frame: PageContext) -> Response:
    """The new workspace, and the key that a program asked for along the way."""
    return await _welcome_page(frame, request.args.get("token", ""))


async def decide_first_key(frame: PageContext) -> Response:
    """Approve or deny that key, once."""
    token = frame.form.text("token")
    try:
        await frame.component(PaymentPage).decide_key_request(
            token, approve=frame.form.text("decision") == "approve"
        )
    except Conflict as refusal:
        return await _welcome_page(frame, token, refusal)
    return await _welcome_page(frame, token)


async def _welcome_page(frame: PageContext, token: str, refusal: ApiError | None = None) -> Response:
    card = await frame.component(PaymentPage).view_page(token)
    lines = label_scopes(card.request.scopes) if card.request else []
    return await frame.render_page("welcome.html", refusal=refusal, card=card, lines=lines, token=token)


def _simulated_checkout(frame: PageContext) -> SandboxCheckout:
    """The checkout, where it is one without money.

    Raises:
        NotFound: people pay elsewhere.
    """
    checkout = frame.service.ports.checkout
    if not hasattr(checkout, "confirm"):
        raise NotFound
    return cast(SandboxCheckout, checkout)


async def _find_signup(frame: PageContext, signup_id: str) -> Signup:
    found = await frame.store.find_signup(SignupLookup.ID, parse_id(signup_id).hex)
    if found is None:
        raise NotFound
    return found


PAGES: Final = (
    Page("GET /signup/verify", confirm_address),
    Page("GET /checkout/canceled", show_canceled),
    Page("GET /checkout/<signup_id>", show_checkout),
    Page("POST /checkout/<signup_id>", answer_checkout),
    Page("GET /welcome", show_welcome),
    Page("POST /welcome", decide_first_key),
)
