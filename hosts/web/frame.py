"""What every page shares: who looks at it, how it is written and where it leads."""

import json
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast
from urllib.parse import urlencode, urlsplit

from quart import Response, g, render_template, request

from hosts.client_address import ClientAddress
from hosts.composition.compose import Service
from hosts.web.forms import Fields, pairs_of
from hosts.web.safety import form_token, headers, is_ours, is_same_origin
from hosts.web.wording import DONE, told
from service_core.access.members.model import SESSION_LIFETIME, Account, Member
from service_core.access.members.sign_in import SignedIn, SignIn
from service_core.access.model import Caller, Workspace
from service_core.access.networks import network_of
from service_core.access.passkeys.ceremonies import Browser
from service_core.access.person import caller_of
from service_core.access.roles import ABILITIES, Ability
from service_core.kernel.errors import Forbidden, NotFound, Refusal
from service_core.kernel.ids import ONE_TIME_TOKEN, new_token
from service_core.workspace.share_links.answers import KEPT
from service_core.workspace.share_links.cache import Cache

_Part = TypeVar("_Part")

DRAWN_AT_MOST: Final = 50
"""Public pages kept as they were drawn: a large one has half a megabyte."""


class SignInNeeded(Exception):
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


class Frame:
    """The web application around its pages.

    Args:
        service: the composed deployment.
        addresses: finds the client behind trusted proxies.
    """

    def __init__(self, service: Service, addresses: ClientAddress) -> None:
        self.service: Final = service
        self.store: Final = service.ports.workspace
        self.clock: Final = service.ports.clock
        self.web_url: Final = service.settings.http.web_url
        self.base: Final = urlsplit(self.web_url).path.rstrip("/")
        self.drawn: Final = Cache[Hashable, str](KEPT, self.clock, DRAWN_AT_MOST)
        self._addresses = addresses
        self._secure = self.web_url.startswith("https://")
        self._cookie = "__Host-touchpoint" if self._secure else "touchpoint"

    def part(self, kind: type[_Part]) -> _Part:
        """The deployment's one value of a type."""
        return self.service.part(kind)

    @property
    def network(self) -> str | None:
        """Where the request comes from, as far as limits tell networks apart."""
        peer = request.scope.get("client")
        return network_of(self._addresses.of(peer and peer[0], request.scope["headers"]))

    @property
    def visitor(self) -> Visitor:
        """Who sends the request."""
        return cast(Visitor, g.visitor)

    @property
    def account(self) -> Account:
        """Who is signed in.

        Raises:
            SignInNeeded: nobody.
        """
        if self.visitor.account is None:
            raise SignInNeeded
        return self.visitor.account

    @property
    def browser(self) -> Browser:
        """What sends the request, as passkeys are bound to it."""
        return Browser(self.visitor.secret, self.network)

    @property
    def form(self) -> Fields:
        """The form that was sent, checked."""
        return cast(Fields, g.form)

    async def receive(self) -> None:
        """Find out who sends the request, and refuse a form that no page of ours made for this browser.

        Raises:
            Forbidden: the form comes from elsewhere.
        """
        secret = request.cookies.get(self._cookie, "")
        known = ONE_TIME_TOKEN.fullmatch(secret) is not None
        found = await self.part(SignIn).find(secret) if known else None
        g.visitor = Visitor(
            secret=secret if known else new_token(), account=found[1] if found else None, is_new=not known
        )
        if request.method == "POST":
            g.form = Fields(await pairs_of(request))
            ours = is_same_origin(
                site=request.headers.get("Sec-Fetch-Site"),
                origin=request.headers.get("Origin"),
                host=request.headers.get("Host", ""),
                own=self.web_url,
            )
            if not known or not ours or not is_ours(secret, g.form.text("csrf")):
                raise Forbidden("This form did not come from this page. Open the page again and repeat.")

    async def page(
        self,
        template: str,
        status: int = 200,
        *,
        refusal: Refusal | None = None,
        form_target: str | None = None,
        **values: Any,
    ) -> Response:
        """A page for the present visitor.

        Args:
            template: name of the file.
            status: HTTP status.
            refusal: of the form that led here; it sets the status and is shown as ``wrong``.
            form_target: a further source its form may lead to.
            values: what the template shows; it escapes all of them.
        """
        visitor = g.get("visitor")
        status, wrong = (status, None) if refusal is None else told(refusal)
        shared = {
            "base": self.base,
            "docs": self.service.settings.http.docs_url.rstrip("/") or "/docs",
            "account": visitor.account if visitor else None,
            "csrf": form_token(visitor.secret) if visitor else "",
            "wrong": wrong,
            "done": DONE.get(request.args.get("done", "")),
            "here": self.here(),
        }
        body = await render_template(template, **{**shared, **values})
        answer = Response(body, status, headers(form_target), mimetype="text/html")
        # A form of another site comes without the cookie: its answer must not replace that of a session.
        if visitor and visitor.is_new and request.method != "POST":
            self._set(answer, visitor.secret, None)
        return answer

    def data(self, body: str, status: int = 200) -> Response:
        """JSON for a script of ours."""
        return Response(body, status, headers(), mimetype="application/json")

    def refused(self, refusal: Refusal) -> Response:
        """What a script of ours shows of a refusal."""
        status, wrong = told(refusal)
        return self.data(json.dumps({"error": wrong}), status)

    def to(self, path: str, **query: str) -> Response:
        """Lead to another page of the application."""
        return self.away(f"{self.base}{path}{'?' if query else ''}{urlencode(query)}")

    def away(self, url: str) -> Response:
        """Lead to an address that was checked."""
        return Response("", 303, {**headers(), "Location": url}, mimetype="text/plain")

    def here(self) -> str:
        """Path and query of the request below the application's address."""
        path = request.path.removeprefix("/app") or "/"
        query = request.query_string.decode("ascii", "ignore")
        return f"{path}?{query}" if query else path

    def admitted(self, answer: Response, opened: SignedIn) -> Response:
        """The answer with the cookie of a new session."""
        self._set(answer, opened.secret, int(SESSION_LIFETIME.total_seconds()))
        return answer

    def forgotten(self, answer: Response) -> Response:
        """The answer that takes the session's cookie away."""
        answer.delete_cookie(self._cookie, path="/", secure=self._secure, httponly=True, samesite="Lax")
        return answer

    async def workspace(self, public_id: str, ability: Ability = Ability.READ) -> tuple[Workspace, Member]:
        """A workspace of whoever is signed in.

        Raises:
            SignInNeeded: nobody is.
            NotFound: not a member of such a workspace.
            Forbidden: the role lacks the ability.
        """
        for workspace, member in await self.store.memberships(self.account.id):
            if workspace.public_id == public_id:
                if ability not in ABILITIES[member.role]:
                    raise Forbidden("Your role does not allow this", "role_required")
                return workspace, member
        raise NotFound

    def caller(self, workspace: Workspace, member: Member) -> Caller:
        """Whoever is signed in as a caller of operations, like any other."""
        return caller_of(self.account, member, workspace, self.clock())

    def _set(self, answer: Response, secret: str, seconds: int | None) -> None:
        answer.set_cookie(
            self._cookie,
            secret,
            max_age=seconds,
            path="/",
            secure=self._secure,
            httponly=True,
            samesite="Lax",
        )


@dataclass(frozen=True, slots=True)
class Page:
    """A page or a form of the application.

    Attributes:
        route: method and path below the application's address.
        show: takes the frame and the parameters of the path.
        for_anybody: it tells nobody from anybody else: no cookie is read or set.
    """

    route: str
    show: Callable[..., Awaitable[Response]]
    for_anybody: bool = False
