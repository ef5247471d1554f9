"""The pictures of the architecture page: packages and allowed imports, the flow of an event, the flow of a query.

They are drawn from the import contracts in ``pyproject.toml``, the declarations of ports, and the docstrings of the functions
along each flow, which are imported here: a function that is renamed or removed breaks this module.
"""

import inspect
import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import hosts
import plugins
from hosts.composition.ports import PORTS
from hosts.composition.roles import Role
from hosts.http import app as http_app
from hosts.ingest import app as ingest_app
from hosts.mcp import app as mcp_app
from hosts.reference.svg import Box, Kind, draw_flow, draw_stack_with_side_arrow
from hosts.web import pages as web_pages
from hosts.worker import consumer
from service_core.analytics.query.combine import RowAccumulator
from service_core.analytics.query.execute import QueryExecution
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.plan import plan_query
from service_core.analytics.query.snapshot import SourceSnapshot
from service_core.analytics.query.sources import Source
from service_core.api.dispatch import Dispatcher
from service_core.delivery.postbacks.rule_trigger import RuleTrigger
from service_core.extensions.registry import Registry
from service_core.ingestion.column_enrichment import BatchEnricher
from service_core.ingestion.pipeline import IngestPipeline
from service_core.ingestion.ports import EventStore, IngestQueue
from service_core.ingestion.track import check_rate_limit_and_validate_request
from service_core.kernel.settings import Settings

_CORE_CONTRACT = "core-packages"


def render_architecture_pictures(registry: Registry, pyproject: Path) -> Mapping[str, str]:
    """Returns file name -> SVG of every picture.

    Args:
        registry: the installed adapters.
        pyproject: the file with the import contracts.
    """
    return {
        "packages.svg": draw_stack_with_side_arrow(
            "Packages and allowed imports",
            [*_package_boxes(pyproject)],
            side_arrow_text="may import what is below",
        ),
        "event-flow.svg": draw_flow("Data flow: an event", [*_event_pipeline_boxes(registry)]),
        "query-flow.svg": draw_flow("Data flow: a query", [*_query_pipeline_boxes(registry)]),
    }


def _package_boxes(pyproject: Path) -> Iterator[Box]:
    contracts = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == _CORE_CONTRACT)
    yield Box("hosts", _list_modules(hosts), "hosts: entry points")
    yield Box("plugins", _list_modules(plugins), "plugins: adapters, one folder each")
    for name in layers:
        package = import_module(f"service_core.{name}")
        kind: Kind = "store" if name == "plugin" else "code"
        yield Box(name, _first_line(package), "service_core: plugins import service_core.plugin alone", kind)


def _event_pipeline_boxes(registry: Registry) -> Iterator[Box]:
    ingest, consume = _role_lane(Role.INGEST), _role_lane(Role.CONSUMER)
    yield Box(
        "POST /track",
        "An event as JSON, with the write key of a workspace.",
        "browser, app or server",
        "client",
    )
    yield Box(ingest_app.__name__, _first_line(ingest_app), ingest)
    yield _function_box(check_rate_limit_and_validate_request, ingest)
    yield _function_box(IngestQueue.offer, ingest)
    yield _port_box("queue", registry)
    yield _function_box(consumer.consume_queue_until_stopped, consume)
    yield _function_box(IngestPipeline.process_batch, consume)
    yield _function_box(BatchEnricher.add_event, consume)
    yield _function_box(EventStore.append, consume)
    yield _port_box("events", registry)
    yield _function_box(RuleTrigger.enqueue_postbacks, consume)
    yield _function_box(IngestQueue.acknowledge, consume)


def _query_pipeline_boxes(registry: Registry) -> Iterator[Box]:
    api = _role_lane(Role.API)
    for name, module in (("HTTP", http_app), ("MCP", mcp_app), ("Pages", web_pages)):
        yield Box(name, _first_line(module), "program or person", "client")
    yield _function_box(Dispatcher.dispatch, api)
    yield _function_box(MetricQueries.execute_marking_unfit_credits_unavailable, api)
    yield Box("SourceSnapshot", _first_line(SourceSnapshot), api)
    yield _function_box(plan_query, api)
    yield _function_box(Source.aggregate, api)
    yield _port_box("events", registry)
    yield _port_box("workspace", registry)
    yield Box("RowAccumulator", _first_line(RowAccumulator), api)
    yield _function_box(QueryExecution.execute, api)


def _role_lane(role: Role) -> str:
    opened = ", ".join(port.name for port in PORTS.values() if role in port.roles)
    return f"role {role}" if role is Role.API else f"role {role}: opens {opened}"


def _port_box(name: str, registry: Registry) -> Box:
    """Returns the box of a port: its setting, what that names, and the schemes of the installed adapters."""
    port = PORTS[name]
    section, _, key = port.setting.partition(".")
    about: Any = Settings.model_fields[section].annotation
    schemes = ", ".join(f"{scheme}://" for owner, scheme in sorted(registry.adapters) if owner == name)
    return Box(port.setting, f"{about.model_fields[key].description} {schemes}", f"port {name}", "store")


def _function_box(function: Callable[..., Any], lane: str) -> Box:
    return Box(f"{function.__module__}: {function.__qualname__}", _first_line(function), lane)


def _first_line(documented: Any) -> str:
    return (inspect.getdoc(documented) or "").partition("\n")[0].replace("`", "")


def _list_modules(package: Any) -> str:
    return " · ".join(module.name for module in iter_modules(package.__path__) if module.ispkg)
