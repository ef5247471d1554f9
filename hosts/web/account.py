"""A person's own account: who is signed in, and the passkeys to sign in with."""

from typing import Final

from quart import Response, current_app

from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.page_context import Page, PageContext
from service_core.access.email_sender import EmailSenderUnavailable
from service_core.access.members.emails import send_new_passkey_notice
from service_core.access.members.models import Account
from service_core.access.members.sign_in import SignIn
from service_core.access.passkeys.ceremonies import PasskeySignIn
from service_core.access.passkeys.models import RegistrationResponse
from service_core.kernel.errors import ApiError, BadRequest, Conflict, TooManyRequests, Unauthorized


async def show_account(context: PageContext) -> Response:
    """The account, and its passkeys where the deployment has them."""
    return await _account_page(context)


async def passkey_registration_options_after_password(context: PageContext) -> Response:
    """What to ask the browser for a new passkey, for its script."""
    try:
        options = await context.component(PasskeySignIn).check_password_and_begin_registration(
            context.signed_in_account, context.form.raw("password"), context.browser
        )
    except (Unauthorized, TooManyRequests) as refusal:
        return context.json_error(refusal)
    return context.json_response(options)


async def add_passkey_and_mail_owner(context: PageContext) -> Response:
    """Keep the passkey that the browser has made, and tell its owner by mail."""
    form, account = context.form, context.signed_in_account
    attested = RegistrationResponse(
        form.base64url_bytes_or_empty("client_data"),
        form.base64url_bytes_or_empty("attestation"),
        frozenset(form.all("transport")),
    )
    try:
        await context.component(PasskeySignIn).verify_and_add_passkey(
            account, form.text("name"), form.text("challenge"), attested, context.browser
        )
    except (BadRequest, Unauthorized, Conflict) as refusal:
        return await _account_page(context, refusal)
    current_app.add_background_task(_send_passkey_mail, context, account)
    return context.redirect_to("/account", done="passkey-added")


async def remove_passkey_and_end_other_sessions(context: PageContext, passkey_id: str) -> Response:
    """Drop a passkey; whoever it let in elsewhere is out."""
    await context.component(PasskeySignIn).remove_passkey(
        context.signed_in_account, parse_id_or_raise_not_found(passkey_id), context.browser
    )
    return context.redirect_to("/account", done="passkey-removed")


async def end_other_sessions(context: PageContext) -> Response:
    """End every session but this one."""
    await context.component(SignIn).end_other_sessions(context.signed_in_account, context.visitor.secret)
    return context.redirect_to("/account", done="elsewhere-out")


async def _account_page(context: PageContext, refusal: ApiError | None = None) -> Response:
    return await context.render_page(
        "account.html",
        refusal=refusal,
        passkeys=await context.store.passkeys.list_passkeys(context.signed_in_account.id),
        offered=context.component(PasskeySignIn).is_available,
    )


async def _send_passkey_mail(context: PageContext, account: Account) -> None:
    try:
        await send_new_passkey_notice(context.service.ports.mail, account, web_url=context.web_url)
    except EmailSenderUnavailable:
        return


PAGES: Final = (
    Page("GET /account", show_account),
    Page("POST /account/passkeys/options", passkey_registration_options_after_password),
    Page("POST /account/passkeys", add_passkey_and_mail_owner),
    Page("POST /account/passkeys/<passkey_id>", remove_passkey_and_end_other_sessions),
    Page("POST /account/sign-out-elsewhere", end_other_sessions),
)
