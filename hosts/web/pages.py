"""The web application: pages for people and what they load, under ``/app``."""

import logging
import traceback
from collections.abc import Iterable, Sequence
from functools import partial, update_wrapper
from importlib.resources import files
from typing import Final

from jinja2 import ChoiceLoader
from quart import Blueprint, Response, request
from werkzeug.exceptions import HTTPException

from hosts.client_address import ClientAddressResolver
from hosts.composition.compose import Service
from hosts.web import (
    account,
    ads,
    alerts,
    analyses,
    annotations,
    approve,
    attribution,
    audit,
    audit_sessions,
    change_preview,
    changes,
    connected_apps,
    connections,
    consent,
    crawlers,
    dashboards,
    details,
    domains,
    email_links,
    email_reports,
    events,
    experiments,
    explain_change,
    explore,
    filter_values,
    funnel_people,
    funnels,
    general_settings,
    goals,
    identity,
    imports,
    journeys,
    keys,
    links,
    members,
    my_workspaces,
    overview,
    path_sessions,
    paths,
    people,
    person,
    privacy,
    profit,
    public_pages,
    realtime,
    receipts,
    reports,
    retention,
    revenue,
    rules,
    scripts,
    search,
    segments,
    share_link_editor,
    share_links,
    sign_in,
    signup,
    start,
    subscriptions,
    theme,
    tracking,
    webhooks,
)
from hosts.web.api_client import ApiRequestFailed
from hosts.web.local_dates import format_local_date, format_local_time
from hosts.web.navigation import ENTRIES
from hosts.web.page_context import Page, PageContext, SignInRequired
from hosts.web.page_security import HEADERS
from hosts.web.plugin_pages import (
    STATIC_PREFIX,
    build_navigation_entries,
    build_plugin_pages,
    build_template_loader,
    read_static_files,
)
from service_core.extensions.pages import WebPage
from service_core.kernel.errors import ApiError, NotFound
from service_core.kernel.ids import new_id

_ASSET_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

_log: Final = logging.getLogger("touchpoint.web")


PAGES: Final[tuple[Page, ...]] = (
    *overview.PAGES,
    *events.PAGES,
    *people.PAGES,
    *person.PAGES,
    *details.PAGES,
    *filter_values.PAGES,
    *realtime.PAGES,
    *profit.PAGES,
    *explain_change.PAGES,
    *receipts.PAGES,
    *ads.PAGES,
    *subscriptions.PAGES,
    *revenue.PAGES,
    *attribution.PAGES,
    *journeys.PAGES,
    *retention.PAGES,
    *funnel_people.PAGES,
    *funnels.PAGES,
    *experiments.PAGES,
    *path_sessions.PAGES,
    *paths.PAGES,
    *goals.PAGES,
    *crawlers.PAGES,
    *imports.PAGES,
    *sign_in.PAGES,
    *my_workspaces.PAGES,
    *account.PAGES,
    *approve.PAGES,
    *changes.PAGES,
    *consent.PAGES,
    *keys.PAGES,
    *members.PAGES,
    *tracking.PAGES,
    *domains.PAGES,
    *identity.PAGES,
    *connected_apps.PAGES,
    *scripts.PAGES,
    *audit.PAGES,
    *audit_sessions.PAGES,
    *change_preview.PAGES,
    *dashboards.PAGES,
    *analyses.PAGES,
    *alerts.PAGES,
    *webhooks.PAGES,
    *annotations.PAGES,
    *segments.PAGES,
    *search.PAGES,
    *email_links.PAGES,
    *email_reports.PAGES,
    *explore.PAGES,
    *reports.PAGES,
    *links.PAGES,
    *rules.PAGES,
    *privacy.PAGES,
    *signup.PAGES,
    *public_pages.PAGES,
    *share_links.PAGES,
    *share_link_editor.PAGES,
    *start.PAGES,
    *general_settings.PAGES,
    *connections.PAGES,
    *theme.PAGES,
)


def create_web_blueprint(service: Service, addresses: ClientAddressResolver) -> Blueprint:
    """The blueprint of the web application.

    Args:
        service: the composed deployment.
        addresses: finds the client behind trusted proxies.
    """
    brought = service.registry.pages.values()
    pages = (*PAGES, *build_plugin_pages(brought))
    context = PageContext(
        service,
        addresses,
        (page.route for page in pages),
        (*ENTRIES, *build_navigation_entries(brought)),
    )
    blueprint = Blueprint("web", __name__, url_prefix="/app", template_folder="templates")
    _add_templates_of_plugins(blueprint, brought)
    blueprint.add_app_template_filter(format_local_date, "local_date")
    blueprint.add_app_template_filter(format_local_time, "local_time")
    _add_static_asset_routes(blueprint, brought)
    blueprint.add_url_rule("", "front_page", partial(_redirect_to_front_page, context))
    _add_pages_with_visitor_loading(blueprint, context, pages)
    _add_error_handlers(blueprint, context)
    return blueprint


def create_root_redirect_blueprint(service: Service) -> Blueprint:
    """Returns the blueprint that redirects ``/`` of the API host to the web application."""
    blueprint = Blueprint("entrance", __name__)
    app_url = f"{service.settings.http.app_url.rstrip('/') or '/app'}/"

    @blueprint.get("/")
    async def redirect_to_app() -> Response:
        return Response("", 303, {**HEADERS, "Location": app_url}, mimetype="text/plain")

    return blueprint


async def _redirect_to_front_page(context: PageContext) -> Response:
    """Lead from the address without a slash to the front page; browsers would resolve its links elsewhere."""
    return context.redirect_to("/")


def _add_static_asset_routes(blueprint: Blueprint, pages: Iterable[WebPage]) -> None:
    """Serve the files of the application, and those of the pages of plugins below `STATIC_PREFIX`."""
    built_in = {
        asset.name: asset.read_bytes()
        for asset in (files("hosts.web") / "static").iterdir()
        if asset.name.rpartition(".")[2] in _ASSET_TYPES
    }
    static = {("", name): body for name, body in built_in.items()} | read_static_files(pages, _ASSET_TYPES)

    @blueprint.get("/static/<name>", defaults={"page": ""})
    @blueprint.get(f"{STATIC_PREFIX}/<page>/<name>")
    async def send_asset(page: str, name: str) -> Response:
        body, known = static.get((page, name)), HEADERS | {"Cache-Control": "no-cache"}
        if body is None:
            return Response("Not found", 404, known, mimetype="text/plain")
        return Response(body, 200, known, mimetype=_ASSET_TYPES[name.rpartition(".")[2]])


def _add_templates_of_plugins(blueprint: Blueprint, pages: Iterable[WebPage]) -> None:
    built_in = blueprint.jinja_loader
    if built_in is not None:
        blueprint.jinja_loader = ChoiceLoader([built_in, build_template_loader(pages)])


def _add_pages_with_visitor_loading(
    blueprint: Blueprint, context: PageContext, pages: Sequence[Page]
) -> None:
    public_endpoints = {
        "web.send_asset",
        "web.front_page",
        *(f"web.{page.route}" for page in pages if page.is_public),
    }

    @blueprint.before_request
    async def load_visitor_unless_public() -> None:
        if request.endpoint not in public_endpoints:
            await context.load_visitor_and_own_form_or_refuse()

    for page in pages:
        method, _, path = page.route.partition(" ")
        view = update_wrapper(partial(page.handler, context), page.handler)
        blueprint.add_url_rule(
            path, f"{method} {path}", view, methods=[method], provide_automatic_options=False
        )


def _add_error_handlers(blueprint: Blueprint, context: PageContext) -> None:
    @blueprint.get("/<path:_>")
    async def raise_not_found(_: str) -> Response:
        raise NotFound

    @blueprint.errorhandler(SignInRequired)
    async def lead_to_sign_in(_: SignInRequired) -> Response:
        return context.redirect_to("/sign-in", next=context.current_path())

    @blueprint.errorhandler(ApiError)
    async def render_api_error(refusal: ApiError) -> Response:
        answer = await context.render_page(
            "error.html", refusal.status, message=refusal.message, hint=refusal.hint
        )
        answer.headers.update(refusal.headers)
        return answer

    @blueprint.errorhandler(ApiRequestFailed)
    async def render_failed_request(failure: ApiRequestFailed) -> Response:
        return await context.render_page("error.html", failure.result.status, message=str(failure))

    @blueprint.errorhandler(Exception)
    async def log_and_render_error_id(fault: Exception) -> Response | HTTPException:
        if isinstance(fault, HTTPException):
            return fault
        error_id = str(new_id())
        stack = "".join(traceback.format_tb(fault.__traceback__))
        _log.error("fault %s in %s: %s\n%s", error_id, request.endpoint, type(fault).__name__, stack)
        return await context.render_page(
            "error.html",
            500,
            message="Something went wrong",
            hint=f"Error id: {error_id}",
        )
