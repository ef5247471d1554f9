"""What keeps pages safe: headers that let nothing foreign run, load or frame them, and forms that are ours."""

import hmac
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from service_core.kernel.ids import encode_base64url

_CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action {form}; base-uri 'none'; frame-ancestors 'none'"
)

HEADERS: Final = {
    "Content-Security-Policy": _CONTENT_SECURITY_POLICY.format(form="'self'"),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # Not no-referrer: with it a browser hides the origin of a form from this server, too.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex",
}
"""Headers of every page and asset."""


def uncached_page_headers(form_target: str | None = None) -> dict[str, str]:
    """Headers of a page that holds something of a person.

    Args:
        form_target: a further source its form may lead to by a redirect.
    """
    form = "'self'" if form_target is None else f"'self' {form_target}"
    return HEADERS | {
        "Content-Security-Policy": _CONTENT_SECURITY_POLICY.format(form=form),
        "Cache-Control": "no-store",
    }


_PUBLIC_CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action {form}; base-uri 'none'; "
    "frame-ancestors {frame}"
)


def public_page_headers(*, embed_hosts: Sequence[str] = (), has_form: bool = False) -> dict[str, str]:
    """Headers of a page that anybody may open: it runs no script at all, and where it leads nobody learns its address.

    Args:
        embed_hosts: hosts whose pages may show it in a frame.
        has_form: whether it has a form that is sent to this server.
    """
    policy = _PUBLIC_CONTENT_SECURITY_POLICY.format(
        form="'self'" if has_form else "'none'", frame=" ".join(embed_hosts) or "'none'"
    )
    headers = uncached_page_headers() | {
        "Content-Security-Policy": policy,
        "Cross-Origin-Resource-Policy": "cross-origin" if embed_hosts else "same-origin",
        "Referrer-Policy": "no-referrer",
    }
    if embed_hosts:
        del headers["X-Frame-Options"]  # it knows no list of hosts; frame-ancestors does
    return headers


def form_token(secret: str) -> str:
    """What every form of a browser holds: it follows from the browser's cookie and does not tell it."""
    return encode_base64url(hmac.digest(secret.encode(), b"touchpoint form", "sha256"))


def is_valid_form_token(secret: str, token: str) -> bool:
    """Whether a form was made for the browser with this cookie."""
    return hmac.compare_digest(form_token(secret).encode(), token.encode("utf-8", "replace"))


def is_same_origin_or_unstated(*, site: str | None, origin: str | None, host: str, own: str) -> bool:
    """Whether a form was sent from a page of this application, as far as the browser says.

    Args:
        site: ``Sec-Fetch-Site``.
        origin: ``Origin``.
        host: ``Host``.
        own: public address of the application.
    """
    if site is not None and site != "same-origin":
        return False
    if origin is None:
        return True
    parts = urlsplit(origin)
    return bool(parts.netloc) and parts.netloc in {host, urlsplit(own).netloc}


def safe_redirect_path_or_root(target: str | None) -> str:
    """Where to go on inside the application after signing in; anything else leads to the front page.

    Args:
        target: path and query below the application's address, as a stranger may have written it.
    """
    if not target or len(target) > 4000 or not target.isascii() or not target.isprintable():  # noqa: PLR2004 - a link of ours is shorter
        return "/"
    if not target.startswith("/") or target.startswith("//") or "\\" in target or " " in target:
        return "/"
    path = target.partition("?")[0]
    return "/" if ".." in path.split("/") or "%" in path or "#" in target else target
