"""Pages of plugins: a menu entry, a template, static files, and reads in the name of the viewer."""

import asyncio
import logging
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

import pytest

import hosts.web.pages
from hosts.composition.compose import load_installed_registry_once
from hosts.web import plugin_pages
from service_core.extensions.pages import PageSection, WebPage
from service_core.kernel.errors import StartupError
from service_core.testing.web_page import PageConformance
from tests.fixtures import composed_deployment
from tests.fixtures.composed_deployment import running_deployment

CONTRIB = Path(__file__).parents[2] / "contrib" / "metric_pack_video"
TEMPLATE = """{% extends "workspace_layout.html" %}{% block heading %}Shop{% endblock %}
{% block content %}<p id="name">{{ values.name }}</p><p>{{ values.problem }}</p><i>{{ static }}</i>{% endblock %}
"""


async def load_name(request):
    answer = await request.api.get("/workspace")
    if "fail" in request.parameters:
        raise KeyError(request.parameters["fail"])
    return {"name": request.parameters.get("name", "none"), "problem": answer.problem}


@pytest.fixture
def page(tmp_path):
    folder = tmp_path / "page"
    (folder / "templates").mkdir(parents=True)
    (folder / "static").mkdir()
    (folder / "templates" / "shop.html").write_text(TEMPLATE)
    (folder / "static" / "shop.css").write_text("p { margin: 0 }")
    (folder / "static" / "secret.txt").write_text("not served")
    (folder / "static" / "linked.css").symlink_to("/etc/hostname")
    return WebPage("shop_page", "Shop page", PageSection.MONEY, folder, "shop.html", load_name)


@asynccontextmanager
async def deployment_with(folder, *pages, monkeypatch):
    """A deployment whose registry has these pages."""
    registry = replace(
        load_installed_registry_once(), pages=MappingProxyType({page.id: page for page in pages})
    )
    monkeypatch.setattr(composed_deployment, "load_installed_registry_once", lambda: registry)
    async with running_deployment(folder, {"storage": {"events": "memory://"}}) as deployment:
        yield deployment


async def test_page_of_a_plugin_has_a_menu_entry_a_template_and_static_files(tmp_path, page, monkeypatch):
    async with deployment_with(tmp_path, page, monkeypatch=monkeypatch) as deployment:
        ann = await deployment.signed_in("ann", "viewer")
        shown = await ann.get(f"{deployment.settings}/pages/shop_page?name=<b>x</b>")
        assert (shown.status, shown.headers["Cache-Control"]) == (200, "no-store")
        assert '<p id="name">&lt;b&gt;x&lt;/b&gt;</p>' in shown.body
        assert "script-src 'self'" in shown.headers["Content-Security-Policy"]
        assert f'href="{deployment.settings}/pages/shop_page" aria-current="page"' in shown.body
        asset = await ann.get("/app/static/pages/shop_page/shop.css")
        assert (asset.status, asset.headers["Content-Type"]) == (200, "text/css; charset=utf-8")
        assert asset.headers["Content-Security-Policy"] == hosts.web.pages.HEADERS["Content-Security-Policy"]
        for name in ("secret.txt", "linked.css", "%2e%2e%2ftemplates%2fshop.html", "nothing.css"):
            assert (await ann.get(f"/app/static/pages/shop_page/{name}")).status == 404


async def test_page_of_a_plugin_is_for_members_of_the_workspace(tmp_path, page, monkeypatch):
    async with deployment_with(tmp_path, page, monkeypatch=monkeypatch) as deployment:
        path = f"{deployment.settings}/pages/shop_page"
        assert (await deployment.person().get(path)).status == 303
        await deployment.enrol("eve", "owner", deployment.other)
        eve = await deployment.person().sign_in("eve@example.com")
        assert (await eve.get(path)).status == 404


async def test_failing_page_hurts_nothing_else_and_hides_the_text_of_its_fault(
    tmp_path, page, monkeypatch, caplog
):
    async with deployment_with(tmp_path, page, monkeypatch=monkeypatch) as deployment:
        ann = await deployment.signed_in("ann", "viewer")
        with caplog.at_level(logging.ERROR):
            failed = await ann.get(f"{deployment.settings}/pages/shop_page?fail=planted+text")
        assert failed.status == 500
        assert "planted text" not in failed.body + caplog.text
        assert "KeyError" in caplog.text
        assert (await ann.get(deployment.settings)).status == 200


async def test_page_that_does_not_return_is_ended_in_words(tmp_path, page, monkeypatch):
    async def wait_forever(request):
        await asyncio.Event().wait()

    monkeypatch.setattr(plugin_pages, "LOAD_TIMEOUT_SECONDS", 0.0)
    async with deployment_with(
        tmp_path, replace(page, load=wait_forever), monkeypatch=monkeypatch
    ) as deployment:
        ann = await deployment.signed_in("ann", "viewer")
        ended = await ann.get(f"{deployment.settings}/pages/shop_page")
        assert ended.status == 503
        assert "The page Shop page took longer than 0 seconds" in ended.body


def test_page_without_its_template_or_with_a_malformed_id_is_refused(tmp_path, page):
    with pytest.raises(StartupError, match="has no template"):
        replace(page, template="other.html")
    with pytest.raises(StartupError, match="is not of lower case letters"):
        replace(page, id="../shop")


def test_page_whose_template_would_not_be_escaped_is_refused(page):
    (page.template_folder / "shop.txt").write_text("{{ values.name }}")
    with pytest.raises(StartupError, match=r"not named NAME\.html"):
        replace(page, template="shop.txt")


@pytest.fixture
def video_page(monkeypatch):
    monkeypatch.syspath_prepend(str(CONTRIB))
    yield import_module("metric_pack_video").VIDEO_PAGE
    for name in [name for name in sys.modules if name.startswith("metric_pack_video")]:
        del sys.modules[name]


class TestVideoPage(PageConformance):
    @pytest.fixture
    def page(self, video_page):
        return video_page


async def test_video_page_says_why_it_has_no_numbers_where_its_metrics_are_unknown(
    tmp_path, video_page, monkeypatch
):
    async with deployment_with(tmp_path, video_page, monkeypatch=monkeypatch) as deployment:
        ann = await deployment.signed_in("ann", "viewer")
        shown = await ann.get(f"{deployment.settings}/pages/video")
        assert shown.status == 200
        assert 'role="alert"' in shown.body
