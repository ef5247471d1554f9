"""The colour theme of a browser: chosen by a form, kept in a cookie, drawn by the server from the first paint on."""

from typing import Final
from urllib.parse import urlsplit

from quart import Response, request

from hosts.web.page_context import THEME_COOKIE, THEMES, Page, PageContext
from hosts.web.page_security import safe_redirect_path_or_root
from service_core.kernel.errors import BadRequest

_COOKIE_SECONDS: Final = 365 * 86_400


async def save_theme(context: PageContext) -> Response:
    """Keep the theme for a year; the choice of the system deletes the cookie."""
    theme = context.form.text("theme")
    if theme not in {*THEMES, "system"}:
        raise BadRequest("There is no such theme", "invalid_parameter", field="theme")
    answer = context.redirect_external(context.base + _path_of_referring_page(context))
    if theme == "system":
        answer.delete_cookie(THEME_COOKIE, path="/", samesite="Lax")
    else:
        answer.set_cookie(
            THEME_COOKIE,
            theme,
            max_age=_COOKIE_SECONDS,
            path="/",
            secure=context.is_secure,
            httponly=True,
            samesite="Lax",
        )
    return answer


def _path_of_referring_page(context: PageContext) -> str:
    """Returns path and query of the page with the form, below the application's address; the front page without one."""
    referrer = urlsplit(request.headers.get("Referer", ""))
    path = f"{referrer.path}?{referrer.query}" if referrer.query else referrer.path
    return safe_redirect_path_or_root(path.removeprefix(context.base))


PAGES: Final = (Page("POST /theme", save_theme),)
