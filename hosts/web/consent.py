"""The page on which a person lets a program in over OAuth."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode

from quart import Response, request

from hosts.web.forms import drop_unstorable_characters
from hosts.web.labels import label_scopes
from hosts.web.page_context import Page, PageContext
from service_core.access.members.models import Member
from service_core.access.models import Workspace
from service_core.access.oauth.authorization import AuthorizationEndpoint, AuthorizationRequest
from service_core.access.oauth.client_metadata import is_client_metadata_url
from service_core.access.oauth.models import ErrorRedirect, OAuthError, redirect_host
from service_core.access.oauth.redirect_uris import LOOPBACK_HOSTS, csp_origin_or_scheme
from service_core.access.scopes import READ_SCOPES
from service_core.kernel.operations import Scope

SCOPE_FIELD: Final = "scope:"
"""Beginning of the name of a check box; the scope follows."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a person answered.

    Attributes:
        decision: ``allow`` or ``deny``.
        scopes: whose boxes are checked.
        requires_plan: whether the program has to plan each change.
    """

    decision: str
    scopes: frozenset[Scope]
    requires_plan: bool


async def show_consent(context: PageContext) -> Response:
    """Which program asks for what; with several workspaces, first for which."""
    query = request.query_string.decode("ascii", "ignore")
    return await _decide_or_render_consent(context, query, request.args.get("workspace", ""))


async def answer_consent(context: PageContext) -> Response:
    """Carry the person's answer back to the program."""
    form = context.form
    chosen_scopes = frozenset(scope for scope in Scope if form.text(f"{SCOPE_FIELD}{scope.value}"))
    answer = _Answer(form.text("decision"), chosen_scopes, bool(form.text("requires_plan")))
    return await _decide_or_render_consent(context, form.text("query"), form.text("workspace"), answer)


async def _decide_or_render_consent(
    context: PageContext, query: str, public_id: str, answer: _Answer | None = None
) -> Response:
    decision = answer.decision if answer else None
    account, consents = context.signed_in_account, context.component(AuthorizationEndpoint)
    sent = drop_unstorable_characters(parse_qsl(query, keep_blank_values=True))
    pairs = [pair for pair in sent if pair[0] != "workspace"]
    try:
        authorization = await consents.parse_and_validate_request(pairs)
        if decision == "deny":
            raise consents.build_error_redirect(
                authorization.redirect_uri, authorization.state, "access_denied", "The person said no"
            )
        known = await context.store.members.list_memberships(account.id)
        chosen = _chosen_or_only_workspace(known, public_id)
        if answer and decision == "allow" and chosen is not None:
            choosable = authorization.choosable_scopes(chosen[1])
            if answer.scopes & choosable or not choosable:
                return context.redirect_external(
                    await consents.grant_scopes_and_return_code_redirect(
                        authorization, chosen[1], answer.scopes, requires_plan=answer.requires_plan
                    )
                )
    except OAuthError as fault:
        return await context.render_page("error.html", fault.status, message=fault.description, hint=None)
    except ErrorRedirect as back:
        return context.redirect_external(back.url)
    return await _consent_page(
        context, authorization, known, chosen, urlencode(pairs), nothing_chosen=decision == "allow"
    )


async def _consent_page(
    context: PageContext,
    authorization: AuthorizationRequest,
    known: list[tuple[Workspace, Member]],
    chosen: tuple[Workspace, Member] | None,
    query: str,
    *,
    nothing_chosen: bool,
) -> Response:
    granted = frozenset() if chosen is None else authorization.grantable_scopes(chosen[1])
    choosable = frozenset() if chosen is None else authorization.choosable_scopes(chosen[1])
    return await context.render_page(
        "consent.html",
        form_target=csp_origin_or_scheme(authorization.redirect_uri),
        client=authorization.client,
        publisher=redirect_host(authorization.client.id) if _publishes_metadata(authorization) else None,
        host=redirect_host(authorization.redirect_uri),
        local=redirect_host(authorization.redirect_uri) in LOOPBACK_HOSTS,
        known=known,
        chosen=chosen,
        lines=[(name, words, name in granted) for name, words in label_scopes(choosable)],
        scope_field=SCOPE_FIELD,
        can_write=not choosable <= READ_SCOPES,
        nothing_chosen=nothing_chosen and chosen is not None,
        left_out=label_scopes(authorization.scopes - granted),
        query=query,
    )


def _publishes_metadata(authorization: AuthorizationRequest) -> bool:
    """Whether the program is known by the address of its metadata document, which proves its host."""
    return is_client_metadata_url(authorization.client.id)


def _chosen_or_only_workspace(
    memberships: list[tuple[Workspace, Member]], public_id: str
) -> tuple[Workspace, Member] | None:
    """The workspace meant; without a choice to make, the only one."""
    if len(memberships) == 1 and not public_id:
        return memberships[0]
    return next((pair for pair in memberships if pair[0].public_id == public_id), None)


PAGES: Final = (Page("GET /consent", show_consent), Page("POST /consent", answer_consent))
