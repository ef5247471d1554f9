"""A one-time link that signs a browser on this machine in as the owner of the example shop."""

import hmac
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from service_core.access.members.models import SESSION_LIFETIME
from service_core.kernel.ids import new_token

SESSION_COOKIE: Final = "touchpoint"
"""Name of the session cookie of a web application without TLS; browsers send it to every port of a host."""


def is_loopback_address(address: str) -> bool:
    """Whether only this machine reaches a ``HOST:PORT`` or URL; a host name other than localhost does not count."""
    host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def serve_one_time_sign_in_link(app_page: str, session_secret: str) -> Iterator[str]:
    """Serves a link on a free port of this machine, which works once; yields its URL.

    The first request sets the session cookie and leads to the page. The page has to be on a loopback address,
    since the cookie is for its host.

    Args:
        app_page: URL of the page to open.
        session_secret: secret of the session.

    Raises:
        ValueError: the page is not on a loopback address.
    """
    if not is_loopback_address(app_page):
        raise ValueError(f"{app_page} is not on a loopback address")
    host = urlsplit(app_page).hostname or ""
    path = f"/{new_token()}"
    handler = _handler_that_signs_in_once(path, app_page, session_secret)
    with _server_class(host)((host, 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://{_url_host(host)}:{server.server_address[1]}{path}"
        finally:
            server.shutdown()
            thread.join()


class _IPv6Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6


def _server_class(host: str) -> type[ThreadingHTTPServer]:
    return _IPv6Server if ":" in host else ThreadingHTTPServer


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _handler_that_signs_in_once(
    path: str, app_page: str, session_secret: str
) -> type[BaseHTTPRequestHandler]:
    unused = threading.Semaphore(1)

    class SignInHandler(BaseHTTPRequestHandler):
        """Answers the link with the cookie, once, and everything else with an error."""

        def do_GET(self) -> None:
            if not hmac.compare_digest(self.path.encode(), path.encode()):
                self.send_error(HTTPStatus.NOT_FOUND)
            elif not unused.acquire(blocking=False):
                self.send_error(
                    HTTPStatus.GONE, "This link was used", "Run touchpoint demo again for a new one."
                )
            else:
                self._redirect_with_session_cookie()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by the base class
            """Writes nothing: the path is a secret."""

        def _redirect_with_session_cookie(self) -> None:
            lifetime = int(SESSION_LIFETIME.total_seconds())
            cookie = f"{SESSION_COOKIE}={session_secret}; Max-Age={lifetime}; Path=/; HttpOnly; SameSite=Lax"
            self.send_response(HTTPStatus.SEE_OTHER)
            self.send_header("Location", app_page)
            self.send_header("Set-Cookie", cookie)
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("Content-Length", "0")
            self.end_headers()

    return SignInHandler
