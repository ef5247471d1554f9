"""From a signup to a workspace: the confirmed address, the checkout without money, and the page after it."""

from typing import Final, cast

from quart import Response, request

from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.labels import label_scopes
from hosts.web.page_context import Page, PageContext
from service_core.access.signup.create import SignupCreator
from service_core.access.signup.models import Signup, SignupStatus
from service_core.access.signup.payment_page import PaymentPage
from service_core.access.signup.payments import SignupPayments
from service_core.access.signup.ports import SandboxCheckout, SignupLookup
from service_core.kernel.errors import ApiError, Conflict, NotFound


async def confirm_address(context: PageContext) -> Response:
    """Go on from a mailed link to the checkout."""
    return context.redirect_external(
        await context.component(SignupCreator).create_checkout_for_verified_email(
            request.args.get("token", "")
        )
    )


async def show_simulated_checkout(context: PageContext, signup_id: str) -> Response:
    """What a person would pay for; nothing is charged."""
    _require_simulated_checkout(context)
    signup = await _find_signup(context, signup_id)
    status = signup.status_at(context.clock())
    return await context.render_page("checkout.html", signup=signup, open=status is SignupStatus.PENDING)


async def pay_or_cancel_simulated_checkout(context: PageContext, signup_id: str) -> Response:
    """Pay or cancel in test mode."""
    simulated, signup = _require_simulated_checkout(context), await _find_signup(context, signup_id)
    if signup.status_at(context.clock()) is not SignupStatus.PENDING:
        return context.redirect_to(f"/checkout/{signup_id}")
    settlement = context.component(SignupPayments)
    if context.form.text("decision") != "pay":
        await settlement.verify_and_record_webhook(simulated.cancel_payment(signup.id, context.clock()))
        return context.redirect_to("/checkout/canceled")
    if not await settlement.verify_and_record_webhook(simulated.confirm_payment(signup.id, context.clock())):
        return context.redirect_to(f"/checkout/{signup_id}")
    token = await context.component(PaymentPage).create_link(signup.id)
    return context.redirect_to("/welcome", token=token)


async def show_canceled(context: PageContext) -> Response:
    """What a person sees who did not pay."""
    return await context.render_page("canceled.html")


async def show_welcome(context: PageContext) -> Response:
    """The new workspace, and the key that a program asked for along the way."""
    return await _welcome_page(context, request.args.get("token", ""))


async def decide_first_key_request(context: PageContext) -> Response:
    """Approve or deny that key, once."""
    token = context.form.text("token")
    try:
        await context.component(PaymentPage).decide_key_request(
            token, approve=context.form.text("decision") == "approve"
        )
    except Conflict as refusal:
        return await _welcome_page(context, token, refusal)
    return await _welcome_page(context, token)


async def _welcome_page(context: PageContext, token: str, refusal: ApiError | None = None) -> Response:
    card = await context.component(PaymentPage).view_page_of_welcome_link(token)
    lines = label_scopes(card.request.scopes) if card.request else []
    return await context.render_page("welcome.html", refusal=refusal, card=card, lines=lines, token=token)


def _require_simulated_checkout(context: PageContext) -> SandboxCheckout:
    """The checkout, where it is one without money.

    Raises:
        NotFound: people pay elsewhere.
    """
    checkout = context.service.ports.checkout
    if not hasattr(checkout, "confirm_payment"):
        raise NotFound
    return cast(SandboxCheckout, checkout)


async def _find_signup(context: PageContext, signup_id: str) -> Signup:
    signup = await context.store.signups.find_signup(
        SignupLookup.ID, parse_id_or_raise_not_found(signup_id).hex
    )
    if signup is None:
        raise NotFound
    return signup


PAGES: Final = (
    Page("GET /signup/verify", confirm_address),
    Page("GET /checkout/canceled", show_canceled),
    Page("GET /checkout/<signup_id>", show_simulated_checkout),
    Page("POST /checkout/<signup_id>", pay_or_cancel_simulated_checkout),
    Page("GET /welcome", show_welcome),
    Page("POST /welcome", decide_first_key_request),
)
