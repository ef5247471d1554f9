"""Settings: what the workspace is connected to, with the forms to connect, test, pause and remove it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from quart import Response

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Answer
from hosts.web.change_preview import FormWrite, preview_or_save, redirect_with_saved_note
from hosts.web.forms import FormFields, parse_id_or_raise_not_found
from hosts.web.local_dates import format_local_time
from hosts.web.page_context import Page, PageContext
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.kernel.operations import Scope

STATUS_LABELS: Final[Mapping[str, str]] = {
    "connected": "Connected",
    "pending": "Waiting for the first sync",
    "error": "Not working",
    "expired": "Credentials rejected",
    "disconnected": "Paused",
}

_PATH: Final = "/settings/connections"
_CREDENTIAL_PREFIX: Final = "credential_"
_SETTING_LABELS: Final[Mapping[str, str]] = {"credentials_id": "Credentials", "accounts": "Accounts"}


@dataclass(frozen=True, slots=True)
class FormNote:
    """What a form on a card led to, shown on that card.

    Attributes:
        provider: whose card it is.
        text: a sentence.
        is_problem: whether something has to be done.
    """

    provider: str
    text: str
    is_problem: bool = True


async def list_connections(context: PageContext, public_id: str) -> Response:
    """A card for each installed provider, connected ones first."""
    return await _connections_page(await open_workspace_view(context, public_id))


async def connect_provider(context: PageContext, public_id: str) -> Response:
    """Connect a provider with the credentials that were typed; they are never shown again."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_RULES)
    form = context.form
    provider = form.text("provider")
    connection = {
        "provider": provider,
        "credentials": _typed_credentials(form),
        "accounts": _accounts_of_lines(form.text("accounts")),
    }
    result = await view.send(
        "POST", "/connections", {"connection": connection}, idempotency_key=form.text("once")[:255] or None
    )
    return await _redirect_or_show_problem(view, provider, result, "create")


async def replace_credentials(context: PageContext, public_id: str, connection_id: str) -> Response:
    """Replace the credentials of a connection, which is then read again."""
    view, connection = await _open_writable_connection(context, public_id, connection_id)
    result = await view.send(
        "PATCH",
        f"/connections/{connection['id']}",
        {"connection": {"credentials": _typed_credentials(context.form)}},
    )
    return await _redirect_or_show_problem(view, connection["provider"], result, "update")


async def change_accounts(context: PageContext, public_id: str, connection_id: str) -> Response:
    """Choose the accounts that are read, and the pixels that conversion rules can send to."""
    view, connection = await _open_writable_connection(context, public_id, connection_id)
    changed = {"accounts": _accounts_of_lines(context.form.text("accounts"))}
    return await _preview_or_save_connection(view, connection, "PATCH", {"connection": changed})


async def pause_or_resume(context: PageContext, public_id: str, connection_id: str) -> Response:
    """Stop reading, receiving and sending for a while, or go on."""
    view, connection = await _open_writable_connection(context, public_id, connection_id)
    is_paused = context.form.text("paused") == "1"
    return await _preview_or_save_connection(view, connection, "PATCH", {"connection": {"paused": is_paused}})


async def remove_connection(context: PageContext, public_id: str, connection_id: str) -> Response:
    """Remove a connection with its credentials; the page it leads to offers the undo."""
    view, connection = await _open_writable_connection(context, public_id, connection_id)
    return await _preview_or_save_connection(view, connection, "DELETE", {})


async def ask_provider(context: PageContext, public_id: str, connection_id: str) -> Response:
    """Ask the provider whether it accepts the stored credentials now."""
    view, connection = await _open_writable_connection(context, public_id, connection_id)
    result = await view.send("POST", f"/connections/{connection['id']}/test", {"dry_run": False})
    message = result.body["message"] if result.ok else result.refusal_message
    is_problem = not result.ok or result.body["ok"] is False
    return await _connections_page(view, FormNote(connection["provider"], message, is_problem=is_problem))


async def _open_writable_connection(
    context: PageContext, public_id: str, connection_id: str
) -> tuple[WorkspaceView, Answer]:
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_RULES)
    parse_id_or_raise_not_found(connection_id)
    return view, await view.get_listed_or_not_found("connections", connection_id)


async def _preview_or_save_connection(
    view: WorkspaceView, connection: Answer, method: str, body: Mapping[str, Any]
) -> Response:
    page = f"{view.path}{_PATH}"
    return await preview_or_save(
        view,
        FormWrite(
            method,
            f"/connections/{connection['id']}",
            body,
            back=page,
            leads_to=lambda _: page,
            labels=_SETTING_LABELS,
        ),
    )


async def _redirect_or_show_problem(
    view: WorkspaceView, provider: str, result: ApiResult, action: str
) -> Response:
    """Leads to the list of connections; a refusal is shown on the card, without the credentials that were typed."""
    if not result.ok:
        note = FormNote(provider, result.refusal_message)
        return await _connections_page(view, note, result.status)
    return redirect_with_saved_note(view.context, f"{view.path}{_PATH}#{provider}", action)


async def _connections_page(view: WorkspaceView, note: FormNote | None = None, status: int = 200) -> Response:
    providers, connections = await view.get("/providers"), await view.get("/connections")
    cards: list[dict[str, Any]] = []
    if providers.ok and connections.ok:
        cards = _build_connection_cards(view, providers.body["providers"], connections.body["connections"])
    failed = next((read for read in (providers, connections) if not read.ok), None)
    http = view.context.service.settings.http
    return await view.render(
        "connections.html",
        status,
        cards=cards,
        problem=failed.message if failed else None,
        note=note,
        statuses=STATUS_LABELS,
        is_ingest_public=bool(http.ingest_url),
        may_write=view.may(Scope.WRITE_RULES),
    )


def _build_connection_cards(
    view: WorkspaceView, providers: Sequence[Answer], connections: Sequence[Answer]
) -> list[dict[str, Any]]:
    """Returns the cards: connected providers first, those without an installed plugin among them."""
    by_provider = {connection["provider"]: connection for connection in connections}
    installed = {provider["id"]: provider for provider in providers}
    ids = [*by_provider, *(id_ for id_ in installed if id_ not in by_provider)]
    return [_build_connection_card(view, id_, installed.get(id_), by_provider.get(id_)) for id_ in ids]


def _build_connection_card(
    view: WorkspaceView, provider_id: str, provider: Answer | None, connection: Answer | None
) -> dict[str, Any]:
    synced = connection and connection["last_synced_at"]
    return {
        "id": provider_id,
        "label": (provider or connection or {})["label"],
        "provider": provider,
        "connection": connection,
        "last_sync": _local_time_with_zone(view, synced) if synced else None,
        "webhook_url": _webhook_url(view, provider_id) if provider and provider["accepts_webhooks"] else None,
        "account_lines": _lines_of_accounts(connection["accounts"]) if connection else "",
    }


def _webhook_url(view: WorkspaceView, provider_id: str) -> str:
    ingest_url = view.context.service.settings.http.effective_ingest_url.rstrip("/")
    return f"{ingest_url}/webhooks/{provider_id}/{view.workspace.public_id}"


def _local_time_with_zone(view: WorkspaceView, timestamp: str) -> str:
    local = format_local_time(timestamp, view.workspace.zone)
    return f"{local} ({view.workspace.timezone.replace('_', ' ')})"


def _typed_credentials(form: FormFields) -> dict[str, str]:
    """Returns the credentials that have a value, by name."""
    typed = {
        name.removeprefix(_CREDENTIAL_PREFIX): value.strip()
        for name, value in form.pairs_except()
        if name.startswith(_CREDENTIAL_PREFIX)
    }
    return {name: value for name, value in typed.items() if value}


def _lines_of_accounts(accounts: Sequence[Answer]) -> str:
    """Returns the accounts as lines: ``ACCOUNT = Name``, and ``ACCOUNT/ASSET = Name`` for each of its assets."""
    lines = []
    for account in accounts:
        lines.append(_line(account["id"], account["name"]))
        lines += [_line(f"{account['id']}/{asset['id']}", asset["name"]) for asset in account["assets"]]
    return "\n".join(lines)


def _line(id_: str, name: str | None) -> str:
    return f"{id_} = {name}" if name else id_


def _accounts_of_lines(text: str) -> list[dict[str, Any]]:
    """Returns the accounts of lines as `_lines_of_accounts` writes them; an asset brings its account."""
    accounts: dict[str, dict[str, Any]] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        place, _, name = (part.strip() for part in line.partition("="))
        account_id, _, asset_id = place.partition("/")
        account = accounts.setdefault(account_id, {"id": account_id, "name": None, "assets": []})
        if asset_id:
            account["assets"].append({"id": asset_id, "name": name or None})
        else:
            account["name"] = name or None
    return list(accounts.values())


PAGES: Final = (
    Page(f"GET /w/<public_id>{_PATH}", list_connections),
    Page(f"POST /w/<public_id>{_PATH}", connect_provider),
    Page(f"POST /w/<public_id>{_PATH}/<connection_id>/credentials", replace_credentials),
    Page(f"POST /w/<public_id>{_PATH}/<connection_id>/accounts", change_accounts),
    Page(f"POST /w/<public_id>{_PATH}/<connection_id>/status", pause_or_resume),
    Page(f"POST /w/<public_id>{_PATH}/<connection_id>/test", ask_provider),
    Page(f"POST /w/<public_id>{_PATH}/<connection_id>/delete", remove_connection),
)
