"""Settings: what a workspace is called, how it counts days and money, and how much of its plan is used."""

from typing import Final

from quart import Response

from hosts.web.api_reads import read_api
from hosts.web.page_context import Page, PageContext
from service_core.kernel.async_gather import gather_or_cancel


async def show_general_settings(context: PageContext, public_id: str) -> Response:
    """The answers of ``GET /workspace`` and ``GET /context``, which have no write yet."""
    workspace, member = await context.require_workspace(public_id)
    caller = context.caller(workspace, member)
    settings, usage = await gather_or_cancel(
        read_api(context, caller, "/workspace"), read_api(context, caller, "/context")
    )
    return await context.render_page(
        "general_settings.html",
        workspace=workspace,
        member=member,
        settings=settings,
        usage=usage,
    )


PAGES: Final = (Page("GET /w/<public_id>/settings/general", show_general_settings),)
