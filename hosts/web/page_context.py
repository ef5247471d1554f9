"""What every page shares: who looks at it, how it is written and where it leads."""

import json
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast
from urllib.parse import urlencode, urlsplit

from quart import Response, g, render_template, request

from hosts.client_address import ClientAddressResolver
from hosts.composition.compose import Service
from hosts.web.forms import FormFields, read_sanitized_form_pairs
from hosts.web.labels import CONFIRMATIONS, page_status_and_message
from hosts.web.navigation import ENTRIES, NavEntry, Navigation, build_navigation
from hosts.web.page_security import (
    form_token,
    is_same_origin_or_unstated,
    is_valid_form_token,
    uncached_page_headers,
)
from service_core.access.internal_callers import build_dashboard_caller_with_role_scopes
from service_core.access.ip_prefixes import full_ipv4_or_ipv6_slash_64
from service_core.access.members.models import SESSION_LIFETIME, Account, Member
from service_core.access.members.sign_in import NewSession, SignIn
from service_core.access.models import Caller, Workspace
from service_core.access.passkeys.ceremonies import BrowserContext
from service_core.access.roles import ROLE_PERMISSIONS, Permission
from service_core.kernel.errors import ApiError, Forbidden, NotFound
from service_core.kernel.ids import ONE_TIME_TOKEN_PATTERN, new_token
from service_core.workspace.share_links.cached_results import RESULT_LIFETIME
from service_core.workspace.share_links.ttl_cache import TtlCache

_Component = TypeVar("_Component")

THEME_COOKIE: Final = "touchpoint-theme"
THEMES: Final = ("light", "dark")
"""Themes that a browser may ask for instead of that of its system."""

MAX_CACHED_PAGES: Final = 50
"""Public pages kept as they were drawn: a large one has half a megabyte."""


class SignInRequired(Exception):
    """The page is for people who are signed in."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """A browser.

    Attributes:
        secret: of its cookie; forms are bound to it.
        account: who is signed in, if anybody.
        is_new: the cookie has to be set.
    """

    secret: str = field(repr=False)
    account: Account | None
    is_new: bool = False


class PageContext:
    """The web application around its pages.

    Args:
        service: the composed deployment.
        addresses: finds the client behind trusted proxies.
        routes: method and path of every page; the side bar shows those of a workspace.
        entries: of the side bar, in its order.
    """

    def __init__(
        self,
        service: Service,
        addresses: ClientAddressResolver,
        routes: Iterable[str] = (),
        entries: Sequence[NavEntry] = ENTRIES,
    ) -> None:
        self.service: Final = service
        self.routes: Final = frozenset(routes)
        self.entries: Final = entries
        self.store: Final = service.ports.workspace
        self.clock: Final = service.ports.clock
        self.web_url: Final = service.settings.http.effective_app_url
        self.base: Final = urlsplit(self.web_url).path.rstrip("/")
        self.drawn: Final = TtlCache[Hashable, str](RESULT_LIFETIME, self.clock, MAX_CACHED_PAGES)
        self.pictures: Final = TtlCache[Hashable, bytes | None](RESULT_LIFETIME, self.clock, MAX_CACHED_PAGES)
        self._addresses = addresses
        self.is_secure: Final = self.web_url.startswith("https://")
        self._cookie = "__Host-touchpoint" if self.is_secure else "touchpoint"

    def component(self, kind: type[_Component]) -> _Component:
        """The deployment's one value of a type."""
        return self.service.component(kind)

    @property
    def network_prefix(self) -> str | None:
        """Where the request comes from, as far as limits tell networks apart."""
        peer = request.scope.get("client")
        return full_ipv4_or_ipv6_slash_64(
            self._addresses.resolve_nearest_untrusted(peer and peer[0], request.scope["headers"])
        )

    @property
    def visitor(self) -> Visitor:
        """Who sends the request."""
        return cast(Visitor, g.visitor)

    @property
    def signed_in_account(self) -> Account:
        """Who is signed in.

        Raises:
            SignInRequired: nobody.
        """
        if self.visitor.account is None:
            raise SignInRequired
        return self.visitor.account

    @property
    def browser(self) -> BrowserContext:
        """What sends the request, as passkeys are bound to it."""
        return BrowserContext(self.visitor.secret, self.network_prefix)

    @property
    def form(self) -> FormFields:
        """The form that was sent, checked."""
        return cast(FormFields, g.form)

    async def load_visitor_and_own_form_or_refuse(self) -> None:
        """Find out who sends the request, and refuse a form that no page of ours made for this browser.

        Raises:
            Forbidden: the form comes from elsewhere.
        """
        secret = request.cookies.get(self._cookie, "")
        known = ONE_TIME_TOKEN_PATTERN.fullmatch(secret) is not None
        session = await self.component(SignIn).find_unexpired_session(secret) if known else None
        g.visitor = Visitor(
            secret=secret if known else new_token(), account=session[1] if session else None, is_new=not known
        )
        if request.method == "POST":
            g.form = FormFields(await read_sanitized_form_pairs(request))
            ours = is_same_origin_or_unstated(
                site=request.headers.get("Sec-Fetch-Site"),
                origin=request.headers.get("Origin"),
                host=request.headers.get("Host", ""),
                own=self.web_url,
            )
            if not known or not ours or not is_valid_form_token(secret, g.form.text("csrf")):
                raise Forbidden(
                    "This form has expired or was sent from another page. Reload the page and try again."
                )

    async def render_page(
        self,
        template: str,
        status: int = 200,
        *,
        refusal: ApiError | None = None,
        form_target: str | None = None,
        **values: Any,
    ) -> Response:
        """A page for the present visitor.

        Args:
            template: name of the file.
            status: HTTP status.
            refusal: of the form that led here; it sets the status and is shown as ``error``.
            form_target: a further source its form may lead to.
            values: what the template shows; it escapes all of them.
        """
        visitor = g.get("visitor")
        status, error = (status, None) if refusal is None else page_status_and_message(refusal)
        shared = {
            "base": self.base,
            "docs": self.service.settings.http.docs_url.rstrip("/") or "/docs",
            "account": visitor.account if visitor else None,
            "csrf": form_token(visitor.secret) if visitor else "",
            "error": error,
            "done": CONFIRMATIONS.get(request.args.get("done", "")),
            "here": self.current_path(),
            "theme": self._chosen_theme(),
            "once": new_token(),
            "navigation": await self._navigation_of_workspace_page(values),
        }
        body = await render_template(template, **{**shared, **values})
        answer = Response(body, status, uncached_page_headers(form_target), mimetype="text/html")
        # A form of another site comes without the cookie: its answer must not replace that of a session.
        if visitor and visitor.is_new and request.method != "POST":
            self._set_session_cookie(answer, visitor.secret, None)
        return answer

    def json_response(self, body: str, status: int = 200) -> Response:
        """JSON for a script of ours."""
        return Response(body, status, uncached_page_headers(), mimetype="application/json")

    def json_error(self, refusal: ApiError) -> Response:
        """What a script of ours shows of a refusal."""
        status, error = page_status_and_message(refusal)
        return self.json_response(json.dumps({"error": error}), status)

    def redirect_to(self, path: str, **query: str) -> Response:
        """Lead to another page of the application."""
        return self.redirect_external(f"{self.base}{path}{'?' if query else ''}{urlencode(query)}")

    def redirect_external(self, url: str) -> Response:
        """Lead to an address that was checked."""
        return Response("", 303, {**uncached_page_headers(), "Location": url}, mimetype="text/plain")

    def current_path(self) -> str:
        """Path and query of the request below the application's address."""
        path = request.path.removeprefix("/app") or "/"
        query = request.query_string.decode("ascii", "ignore")
        return f"{path}?{query}" if query else path

    def with_session_cookie(self, answer: Response, opened: NewSession) -> Response:
        """The answer with the cookie of a new session."""
        self._set_session_cookie(answer, opened.secret, int(SESSION_LIFETIME.total_seconds()))
        return answer

    def without_session_cookie(self, answer: Response) -> Response:
        """The answer that takes the session's cookie away."""
        answer.delete_cookie(self._cookie, path="/", secure=self.is_secure, httponly=True, samesite="Lax")
        return answer

    async def require_workspace(
        self, public_id: str, required_permission: Permission = Permission.READ
    ) -> tuple[Workspace, Member]:
        """A workspace of whoever is signed in.

        Raises:
            SignInRequired: nobody is.
            NotFound: not a member of such a workspace.
            Forbidden: the role lacks the ability.
        """
        for workspace, member in await self.list_memberships():
            if workspace.public_id == public_id:
                if required_permission not in ROLE_PERMISSIONS[member.role]:
                    raise Forbidden("Your role does not allow this", "role_required")
                return workspace, member
        raise NotFound

    def _chosen_theme(self) -> str | None:
        theme = request.cookies.get(THEME_COOKIE)
        return theme if theme in THEMES else None

    async def list_memberships(self) -> list[tuple[Workspace, Member]]:
        """Returns the workspaces of whoever is signed in, read once per request.

        Raises:
            SignInRequired: nobody is.
        """
        if "memberships" not in g:
            g.memberships = await self.store.members.list_memberships(self.signed_in_account.id)
        return cast(list[tuple[Workspace, Member]], g.memberships)

    async def _navigation_of_workspace_page(self, values: Mapping[str, Any]) -> Navigation | None:
        """Returns the side bar; None for a page that shows no workspace to a member.

        ``navigation_path`` of the values names the entry of a page whose own path is not below the workspace.
        """
        workspace, member = values.get("workspace"), values.get("member")
        if workspace is None or member is None:
            return None
        path = self.current_path().partition("?")[0].removeprefix(f"/w/{workspace.public_id}")
        return build_navigation(
            self.routes,
            member,
            workspace,
            await self.list_memberships(),
            values.get("navigation_path", path),
            entries=self.entries,
        )

    def caller(self, workspace: Workspace, member: Member) -> Caller:
        """Whoever is signed in as a caller of operations, like any other."""
        return build_dashboard_caller_with_role_scopes(
            self.signed_in_account, member, workspace, self.clock()
        )

    def _set_session_cookie(self, answer: Response, secret: str, max_age_seconds: int | None) -> None:
        answer.set_cookie(
            self._cookie,
            secret,
            max_age=max_age_seconds,
            path="/",
            secure=self.is_secure,
            httponly=True,
            samesite="Lax",
        )


@dataclass(frozen=True, slots=True)
class Page:
    """A page or a form of the application.

    Attributes:
        route: method and path below the application's address.
        handler: takes the context and the parameters of the path.
        is_public: the page reads and sets no cookie.
    """

    route: str
    handler: Callable[..., Awaitable[Response]]
    is_public: bool = False
