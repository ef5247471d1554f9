"""Forms that create something once, and secrets that are shown once, on the page after the redirect.

A form of this kind holds a one-time token: sent again, it changes nothing. A new secret travels to the page it is shown on
in a cookie of that page, which showing it deletes; so a reload neither repeats the creation nor shows the secret again.
"""

import binascii
import hashlib
import hmac
import json
from base64 import urlsafe_b64decode
from dataclasses import dataclass, field
from typing import Final

from quart import Response, request

from hosts.web.page_context import PageContext
from service_core.access.ports import RateLimiterUnavailable
from service_core.kernel.errors import BadRequest
from service_core.kernel.ids import ONE_TIME_TOKEN_PATTERN, encode_base64url

COOKIE: Final = "touchpoint-once"
COOKIE_SECONDS: Final = 60
"""How long the browser keeps a secret whose page it does not open."""

_FORM_SECONDS: Final = 7 * 86_400


@dataclass(frozen=True, slots=True)
class ShownSecret:
    """A new secret and the name of what it belongs to."""

    name: str
    secret: str = field(repr=False)


async def is_first_submission(context: PageContext) -> bool:
    """Whether the present form is sent for the first time within a week.

    While the store of the limits cannot be reached, every submission counts as the first one.

    Raises:
        BadRequest: the form has no one-time token.
    """
    token = context.form.text("once")
    if not ONE_TIME_TOKEN_PATTERN.fullmatch(token):
        raise BadRequest("This form is incomplete. Reload the page and try again")
    key = f"form:{hashlib.sha256(token.encode()).hexdigest()}"
    try:
        return (await context.service.ports.limits.consume(key, 1, _FORM_SECONDS)).allowed
    except RateLimiterUnavailable:
        return True


def redirect_with_secret(context: PageContext, path: str, shown: ShownSecret) -> Response:
    """Returns the redirect to the page that shows a new secret once."""
    payload = json.dumps([shown.name, shown.secret]).encode()
    answer = context.redirect_to(path)
    answer.set_cookie(
        COOKIE,
        f"{encode_base64url(payload)}.{_signature(context, payload)}",
        max_age=COOKIE_SECONDS,
        path=context.base + path,
        secure=context.is_secure,
        httponly=True,
        samesite="Strict",
    )
    return answer


def read_secret_of_cookie(context: PageContext) -> ShownSecret | None:
    """Returns the secret that the present page shows; None without one."""
    encoded, _, signature = request.cookies.get(COOKIE, "").partition(".")
    try:
        payload = urlsafe_b64decode(encoded.encode("ascii") + b"=" * (-len(encoded) % 4))
    except (binascii.Error, UnicodeEncodeError):
        return None
    if not payload or not hmac.compare_digest(_signature(context, payload).encode(), signature.encode()):
        return None
    name, secret = json.loads(payload)
    return ShownSecret(name, secret)


def delete_secret_cookie(context: PageContext, path: str, answer: Response) -> Response:
    """Returns the answer that takes the cookie of a shown secret away."""
    answer.delete_cookie(
        COOKIE, path=context.base + path, secure=context.is_secure, httponly=True, samesite="Strict"
    )
    return answer


def _signature(context: PageContext, payload: bytes) -> str:
    return encode_base64url(
        hmac.digest(context.visitor.secret.encode(), b"touchpoint once" + payload, "sha256")
    )
