"""`POST /shopify/economics/cost-imports/...`, as whoever runs the deployment calls it."""

from contextlib import asynccontextmanager

import orjson
import pytest

from hosts.composition.compose import compose, load_installed_registry_once
from service_core.api.http_messages import ApiRequest
from service_core.commerce.costs.models import ItemIdType
from service_core.kernel.settings import HttpSettings, IngestSettings, Settings, StorageSettings
from tests.analytics.deployment import Deployment
from tests.commerce.costs.cost_data import item_cost

ROUTE = "/v1/shopify/economics/cost-imports"
TOKEN = "planted-internal-token-of-24"
IMPORT = {
    "currency": "USD",
    "effective_from": "2026-07-01",
    "rows": [
        {"sku": "SHIRT", "unit_cost": "8.005", "handling_cost": 1},
        {"variant_id": 22, "unit_cost": 3.5, "effective_from": "2026-06-01"},
    ],
}
KEPT = [
    item_cost("SHIRT", "8.005", 1, since="2026-07-01"),
    item_cost("22", "3.5", since="2026-06-01", by=ItemIdType.VARIANT),
]


@asynccontextmanager
async def run_deployment_with_token(folder, token):
    settings = Settings(
        storage=StorageSettings(events="memory://", workspace="sqlite:///workspace.db"),
        ingest=IngestSettings(queue="spool:///spool.db"),
        http=HttpSettings(internal_token=token),
    )
    served = Deployment()
    async with compose(
        settings, folder, registry=load_installed_registry_once(), clock=lambda: served.now
    ) as service:
        served.service = service
        yield await served.workspace()


@pytest.fixture
async def workspace_client(tmp_path):
    async with run_deployment_with_token(tmp_path, TOKEN) as workspace_client:
        yield workspace_client


async def send_import_step(workspace_client, step, body, **headers):
    """Status and answer."""
    changed = {"authorization": f"Bearer {workspace_client.key}", "x-internal-token": TOKEN} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    sent = {name: value for name, value in changed.items() if value is not None}
    response = await workspace_client.service.dispatch(
        ApiRequest("POST", f"{ROUTE}/{step}", "", sent, orjson.dumps(body))
    )
    return response.status, orjson.loads(response.body)


async def read_row_errors(workspace_client, **body):
    """Number of each row that is rejected, and why."""
    status, answer = await send_import_step(
        workspace_client, "validate", {"effective_from": "2026-07-01", **body}
    )
    assert status == 200, answer
    assert (answer["valid"], answer["rejected"]) == (not answer["errors"], len(answer["errors"]))
    return [(each["row"], each["reason"]) for each in answer["errors"]]


async def read_stored_costs(workspace_client):
    return sorted(
        await workspace_client.service.ports.workspace.item_costs.list_costs(workspace_client.workspace.id),
        key=repr,
    )


@pytest.mark.parametrize("step", ["validate", "apply"])
@pytest.mark.parametrize("sent", [None, "", TOKEN[:-1], TOKEN + "x", "ö" * 24])
async def test_import_needs_the_import_token_beside_the_key(workspace_client, step, sent):
    status, answer = await send_import_step(workspace_client, step, [], x_internal_token=sent)
    assert (status, answer["reason"], answer["code"]) == (403, *["internal_credential_required"] * 2)


async def test_import_is_refused_without_a_configured_token(tmp_path):
    async with run_deployment_with_token(tmp_path, "") as shop:
        for sent in ("", None, TOKEN):
            status, answer = await send_import_step(shop, "validate", IMPORT, x_internal_token=sent)
            assert (status, answer["reason"]) == (403, "internal_credential_required")


async def test_token_alone_is_no_credential(workspace_client):
    status, answer = await send_import_step(workspace_client, "validate", IMPORT, authorization=None)
    assert (status, answer) == (401, {"error": "Invalid or missing API key"})


async def test_validated_import_is_applied_once_and_repeatable(workspace_client):
    status, check = await send_import_step(workspace_client, "validate", IMPORT)
    import_hash = check.pop("import_hash")
    assert (status, check) == (
        200,
        {"valid": True, "row_count": 2, "accepted": 2, "rejected": 0, "errors": []},
    )
    assert await read_stored_costs(workspace_client) == []
    answers = [
        await send_import_step(workspace_client, "apply", {**IMPORT, "import_hash": import_hash})
        for _ in range(2)
    ]
    import_id = answers[0][1]["import_id"]
    assert answers == [(200, {"applied": True, "import_id": import_id, "rows_applied": 2})] * 2
    assert await read_stored_costs(workspace_client) == sorted(KEPT, key=repr)


async def test_csv_import_equals_json_import(workspace_client):
    as_csv = (
        "\ufeffSKU,variant_id,unit_cost,handling_cost,effective_from,currency\r\n"
        'SHIRT,,8.005,1,2026-07-01,usd\r\n,22,"3.50",,2026-06-01,\r\n'
    )
    _, of_rows = await send_import_step(workspace_client, "validate", IMPORT)
    status, of_file = await send_import_step(workspace_client, "validate", {"csv": as_csv})
    assert (status, of_file) == (200, of_rows)


async def test_changed_body_or_rejected_rows_are_not_applied(workspace_client):
    _, check = await send_import_step(workspace_client, "validate", IMPORT)
    other = {**IMPORT, "rows": IMPORT["rows"][:1], "import_hash": check["import_hash"]}
    status, answer = await send_import_step(workspace_client, "apply", other)
    assert (status, answer["reason"], answer["code"]) == (409, "import_changed", "import_changed")
    wrong = {**IMPORT, "rows": [*IMPORT["rows"], {"unit_cost": 1}]}
    _, check = await send_import_step(workspace_client, "validate", wrong)
    assert check["valid"] is False
    status, answer = await send_import_step(
        workspace_client, "apply", {**wrong, "import_hash": check["import_hash"]}
    )
    assert (status, answer["reason"]) == (422, "rows_rejected")
    assert await read_stored_costs(workspace_client) == []


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"unit_cost": 1}, "unknown_sku"),
        ({"sku": " ", "unit_cost": 1}, "unknown_sku"),
        ({"sku": "A", "unit_cost": "-0.01"}, "negative_cost"),
        ({"sku": "A", "unit_cost": 1, "handling_cost": -1}, "negative_cost"),
        ({"sku": "A", "unit_cost": "one"}, "invalid_cost"),
        ({"sku": "A", "unit_cost": ""}, "invalid_cost"),
        ({"sku": "A", "unit_cost": "NaN"}, "invalid_cost"),
        ({"sku": "A", "unit_cost": "0.0000001"}, "invalid_cost"),
        ({"sku": "A", "unit_cost": 1e12}, "invalid_cost"),
        ({"sku": "A", "unit_cost": 1, "effective_from": "2026-02-30"}, "invalid_date"),
        ({"sku": "A", "unit_cost": 1, "effective_from": "0001-01-01"}, "invalid_date"),
        ({"sku": "GOOD", "unit_cost": 2}, "duplicate_row"),
    ],
)
async def test_row_is_rejected_with_its_number_and_a_reason(workspace_client, row, reason):
    assert await read_row_errors(workspace_client, rows=[{"sku": "GOOD", "unit_cost": 1}, row]) == [
        (2, reason)
    ]


async def test_rows_of_another_currency_or_without_a_day_are_rejected(workspace_client):
    as_csv = "sku,unit_cost,currency\nA,1,EUR\nB,1,USD\nC,1,\n"
    assert await read_row_errors(workspace_client, csv=as_csv) == [(1, "currency_mismatch")]
    assert await read_row_errors(workspace_client, csv=as_csv, currency="EUR") == [(2, "currency_mismatch")]
    assert await read_row_errors(workspace_client, csv=as_csv, effective_from=None) == [
        (1, "currency_mismatch"), (2, "invalid_date"), (3, "invalid_date"),
    ]  # fmt: skip


async def test_item_can_have_costs_by_start_date(workspace_client):
    days = ("2026-06-01", "2026-07-01")
    assert (
        await read_row_errors(
            workspace_client, rows=[{"sku": "A", "unit_cost": 1, "effective_from": day} for day in days]
        )
        == []
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "missing_field"),
        ({"rows": []}, "missing_field"),
        ({"rows": [], "csv": ""}, "missing_field"),
        ({"csv": "sku,unit_cost\n"}, "missing_field"),
        ({"csv": "sku,handling_cost\nA,1\n"}, "missing_field"),
        ({"csv": "sku,price\nA,1\n"}, "unknown_field"),
        ({"csv": "sku,unit_cost\nA,1,2\n"}, "invalid_parameter"),
        ({"csv": 'sku,unit_cost\n"A,1\n'}, "invalid_parameter"),
        ({"rows": [{"sku": "A"}]}, "missing_field"),
        ({"rows": [{"sku": "A", "unit_cost": 1, "price": 1}]}, "unknown_field"),
        ({"rows": [{"sku": "A", "unit_cost": True}]}, "invalid_parameter"),
        ({"currency": "usd", "rows": [{"sku": "A", "unit_cost": 1}]}, "invalid_parameter"),
        ({"csv": "sku,unit_cost\n" + "A,1\n" * 10_001}, "too_many_rows"),
    ],
)
async def test_invalid_import_body_is_refused_with_a_reason(workspace_client, body, reason):
    status, answer = await send_import_step(workspace_client, "validate", body)
    assert (status, answer["reason"], answer["code"]) == (400, reason, reason)


async def test_ten_thousand_rows_are_one_import(workspace_client):
    as_csv = "sku,unit_cost\n" + "".join(f"S{number},1\n" for number in range(10_000))
    body = {"csv": as_csv, "effective_from": "2026-07-01"}
    _, check = await send_import_step(workspace_client, "validate", body)
    _, answer = await send_import_step(
        workspace_client, "apply", {**body, "import_hash": check["import_hash"]}
    )
    assert answer["rows_applied"] == len(await read_stored_costs(workspace_client)) == 10_000


async def test_inactive_workspace_can_validate_and_not_apply(workspace_client):
    await workspace_client.changes(active=False)
    _, check = await send_import_step(workspace_client, "validate", IMPORT)
    status, answer = await send_import_step(
        workspace_client, "apply", {**IMPORT, "import_hash": check["import_hash"]}
    )
    assert (status, answer["reason"]) == (403, "workspace_inactive")
