"""The password of a public page: its form, and the cookie of a browser that has entered it."""

from typing import Final

from quart import Response, request

from hosts.web.forms import FormFields, read_sanitized_form_pairs
from hosts.web.page_context import PageContext
from hosts.web.page_security import public_page_headers
from service_core.kernel.errors import ApiError
from service_core.workspace.share_links.access import SharedObject
from service_core.workspace.share_links.password_access import PROOF_LIFETIME, SharePasswordAccess

PROOF_COOKIE: Final = "touchpoint-share"
"""Name of the cookie; each page has its own, since its path is that of the page."""


def is_unlocked_for_browser(context: PageContext, publication: SharedObject) -> bool:
    """Whether the page needs no password, or the browser has entered it."""
    proof = request.cookies.get(PROOF_COOKIE, "")
    return context.component(SharePasswordAccess).is_public_or_has_valid_proof(publication, proof)


async def password_page(
    context: PageContext, publication: SharedObject, refusal: ApiError | None = None
) -> Response:
    """The form for the password; it does not tell what the page shows."""
    status = 401 if refusal is None else refusal.status
    answer = await context.render_page(
        "public_page_password.html", status, wrong=None if refusal is None else refusal.message, done=None
    )
    answer.headers.clear()
    answer.headers.update(
        {
            "Content-Type": "text/html; charset=utf-8",
            **public_page_headers(embed_hosts=publication.link.embed_hosts, has_form=True),
            **(refusal.headers if refusal else {}),
        }
    )
    return answer


async def unlock_with_password(context: PageContext, publication: SharedObject, token: str) -> Response:
    """Verify the password that was sent; lead to the page with the proof in a cookie, or show the form again."""
    if not publication.link.has_password:
        return _redirect_to_page(context, publication, token)
    password = FormFields(await read_sanitized_form_pairs(request)).raw("password")
    try:
        proof = await context.component(SharePasswordAccess).verify_password_and_issue_proof(
            publication, password, context.network_prefix
        )
    except ApiError as refusal:
        return await password_page(context, publication, refusal)
    answer = _redirect_to_page(context, publication, token)
    # In a frame of another site a browser sends the cookie back only if it is kept apart for that site.
    is_embedded = bool(publication.link.embed_hosts) and context.is_secure
    answer.set_cookie(
        PROOF_COOKIE,
        proof,
        max_age=int(PROOF_LIFETIME.total_seconds()),
        path=f"{context.base}/share/{token}",
        secure=context.is_secure,
        httponly=True,
        samesite="None" if is_embedded else "Lax",
        partitioned=is_embedded,
    )
    return answer


def _redirect_to_page(context: PageContext, publication: SharedObject, token: str) -> Response:
    headers = public_page_headers(embed_hosts=publication.link.embed_hosts)
    chosen = request.args.get("range")
    kept = f"?range={chosen}" if chosen in publication.link.allowed_ranges else ""
    location = f"{context.base}/share/{token}{kept}"
    return Response("", 303, {**headers, "Location": location}, mimetype="text/plain")
