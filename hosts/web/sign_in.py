"""Signing in and out, and another password for whoever has lost it."""

from typing import Final

from quart import Response, current_app, request

from hosts.web.page_context import Page, PageContext
from hosts.web.page_security import safe_redirect_path_or_root
from service_core.access.email_sender import EmailSenderUnavailable
from service_core.access.members.membership import send_limited_password_reset_if_known
from service_core.access.members.sign_in import NewSession, SignIn
from service_core.access.passkeys.ceremonies import PasskeySignIn
from service_core.access.passkeys.models import AuthenticationResponse
from service_core.kernel.errors import ApiError, BadRequest, TooManyRequests, Unauthorized


async def show_sign_in_or_redirect_signed_in(context: PageContext) -> Response:
    """The form to sign in; whoever is signed in already goes on."""
    target = safe_redirect_path_or_root(request.args.get("next"))
    if context.visitor.account is not None:
        return _redirect_after_sign_in(context, target)
    return await _sign_in_page(context, target)


async def sign_in_with_password(context: PageContext) -> Response:
    """Open a session for a password."""
    target, email = safe_redirect_path_or_root(context.form.text("next")), context.form.text("email")
    try:
        opened = await context.component(SignIn).sign_in_with_password(
            email, context.form.raw("password"), client_prefix=context.network_prefix
        )
    except (Unauthorized, TooManyRequests) as refusal:
        return await _sign_in_page(context, target, email, refusal)
    return _open_session_response(context, target, opened)


async def passkey_sign_in_options(context: PageContext) -> Response:
    """What to ask the browser for, for its script."""
    try:
        return context.json_response(
            await context.component(PasskeySignIn).count_attempt_and_begin_sign_in(context.browser)
        )
    except TooManyRequests as refusal:
        return context.json_error(refusal)


async def sign_in_with_passkey(context: PageContext) -> Response:
    """Open a session for a passkey."""
    form, target = context.form, safe_redirect_path_or_root(context.form.text("next"))
    asserted = AuthenticationResponse(
        credential_id=form.base64url_bytes_or_empty("credential_id"),
        user_handle=form.base64url_bytes_or_empty("user"),
        client_data=form.base64url_bytes_or_empty("client_data"),
        authenticator_data=form.base64url_bytes_or_empty("authenticator_data"),
        signature=form.base64url_bytes_or_empty("signature"),
    )
    try:
        opened = await context.component(PasskeySignIn).sign_in_with_passkey(
            form.text("challenge"), asserted, context.browser
        )
    except (Unauthorized, TooManyRequests) as refusal:
        return await _sign_in_page(context, target, refusal=refusal)
    return _open_session_response(context, target, opened)


async def sign_out(context: PageContext) -> Response:
    """End the session."""
    await context.component(SignIn).sign_out(context.visitor.secret)
    return context.without_session_cookie(context.redirect_to("/sign-in", done="signed-out"))


async def show_forgot_password(context: PageContext) -> Response:
    """The form to ask for another password."""
    return await context.render_page("forgot_password.html", sent=False)


async def mail_password_link_in_background(context: PageContext) -> Response:
    """Mail a link if the address has an account; the answer comes first, so it tells nothing."""
    ports, email = context.service.ports, context.form.text("email")

    async def mail_password_link() -> None:
        try:
            await send_limited_password_reset_if_known(
                ports.workspace.accounts,
                ports.mail,
                ports.limits,
                email,
                web_url=context.web_url,
                now=ports.clock(),
            )
        except EmailSenderUnavailable:
            return

    current_app.add_background_task(mail_password_link)
    return await context.render_page("forgot_password.html", sent=True)


async def show_choose_password(context: PageContext) -> Response:
    """The form behind a mailed link."""
    return await context.render_page("password.html", token=request.args.get("token", ""))


async def set_password_by_link_and_sign_in(context: PageContext) -> Response:
    """Set password and sign in."""
    token = context.form.text("token")
    try:
        opened = await context.component(SignIn).set_password_and_replace_sessions(
            token, context.form.raw("password")
        )
    except (BadRequest, Unauthorized) as refusal:
        return await context.render_page("password.html", refusal=refusal, token=token)
    return _open_session_response(context, "/", opened)


async def _sign_in_page(
    context: PageContext, target: str, email: str = "", refusal: ApiError | None = None
) -> Response:
    offered = context.component(PasskeySignIn).is_available
    return await context.render_page(
        "sign_in.html", refusal=refusal, target=target, email=email, passkeys=offered
    )


def _open_session_response(context: PageContext, target: str, opened: NewSession) -> Response:
    return context.with_session_cookie(_redirect_after_sign_in(context, target), opened)


def _redirect_after_sign_in(context: PageContext, target: str) -> Response:
    return (
        context.redirect_to("/workspaces")
        if target == "/"
        else context.redirect_external(context.base + target)
    )


PAGES: Final = (
    Page("GET /sign-in", show_sign_in_or_redirect_signed_in),
    Page("POST /sign-in", sign_in_with_password),
    Page("POST /sign-in/passkey/options", passkey_sign_in_options),
    Page("POST /sign-in/passkey", sign_in_with_passkey),
    Page("POST /sign-out", sign_out),
    Page("GET /lost-password", show_forgot_password),
    Page("POST /lost-password", mail_password_link_in_background),
    Page("GET /password", show_choose_password),
    Page("POST /password", set_password_by_link_and_sign_in),
)
