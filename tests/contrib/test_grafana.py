"""The panels of `contrib/grafana`, asked as the Infinity data source asks them."""

import json
from pathlib import Path

import orjson
import pytest
import yaml

from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.api.http_messages import ApiRequest
from service_core.kernel.operations import Scope
from service_core.testing.standard_dataset import SHOP, standard_events
from tests.analytics.deployment import NOW, run_deployment

FOLDER = Path(__file__).parents[2] / "contrib" / "grafana"
VARIABLES = {
    "${__from:date:iso}": "2026-03-02T05:00:00.000Z",
    "${__to:date:iso}": "2026-03-09T03:59:59.999Z",
    "${api}": "https://analytics.shop.example",
}


def interpolate(text):
    for variable, value in VARIABLES.items():
        text = text.replace(variable, value)
    assert "${" not in text
    return text


@pytest.fixture
async def shop(tmp_path):
    """A client whose key reads totals and nothing else."""
    async with run_deployment("memory", tmp_path) as deployment:
        client = await deployment.workspace(SHOP)
        await client.knows(*standard_events())
        minted = await create_named_key_clamping_rate_limit_to_plan(
            client.service.ports.workspace.credentials,
            client.workspace,
            NOW,
            name="Grafana",
            scopes=[Scope.READ_AGGREGATES],
            requested_rate_limit=1000,
        )
        client.key = minted.secret
        yield client


async def ask(shop, target):
    options = target["url_options"]
    path = interpolate(target["url"]).removeprefix(VARIABLES["${api}"])
    assert options["body_type"] == "raw"
    headers = {"authorization": f"Bearer {shop.key}", "content-type": options["body_content_type"]}
    body = interpolate(options["data"]).encode()
    response = await shop.service.dispatch(ApiRequest(options["method"], path, "", headers, body))
    answer = orjson.loads(response.body)
    assert response.status == 200, answer
    return answer


async def test_panels_get_every_column_they_show(shop):
    shown = 0
    for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]:
        for target in panel["targets"]:
            found = (await ask(shop, target))[target["root_selector"]]
            rows = found if isinstance(found, list) else [found]
            assert rows, panel["title"]
            for column in target["columns"]:
                assert all(column["selector"] in row for row in rows), panel["title"]
                values = [row[column["selector"]] for row in rows]
                kinds = {"number": int | float | type(None), "string": str, "timestamp": str}
                assert all(isinstance(value, kinds[column["type"]]) for value in values)
                shown += any(values)
    assert shown > 15


async def test_unmeasured_metric_is_empty_and_not_zero(shop):
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    (spend,) = [panel for panel in panels if panel["title"] == "Ad spend"]
    assert (await ask(shop, spend["targets"][0]))["totals"] == {"ad_spend": None}
    assert spend["fieldConfig"]["defaults"]["noValue"] == "not measured"


async def test_key_of_the_dashboard_reads_no_events(shop):
    headers = {"authorization": f"Bearer {shop.key}"}
    query = "start_date=2026-03-02&end_date=2026-03-08"
    response = await shop.service.dispatch(ApiRequest("GET", "/v1/events", query, headers))
    assert response.status == 403


def test_data_source_sends_the_key_to_the_api_alone():
    (source,) = yaml.safe_load((FOLDER / "datasource.yaml").read_text())["datasources"]
    assert source["jsonData"] == {"auth_method": "bearerToken", "allowedHosts": ["$TOUCHPOINT_API"]}
    assert source["secureJsonData"] == {"bearerToken": "$TOUCHPOINT_KEY"}
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    used = {target["datasource"]["uid"] for panel in dashboard["panels"] for target in panel["targets"]}
    assert used == {source["uid"]}
