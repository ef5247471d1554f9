"""Links read where they are kept pass the kit of the mapping: there is no second write that could be lost."""

import pytest

from service_core.testing.redirects import RedirectLookupConformance
from service_core.workspace.links.redirect_lookup import DatabaseRedirects
from tests.workspace.conftest import WorkspaceApi


class TestWorkspaceStore(RedirectLookupConformance):
    @pytest.fixture
    async def workspace_api(self, tmp_path):
        workspace_api = WorkspaceApi(tmp_path)
        async with workspace_api.service:
            yield await workspace_api.open()

    @pytest.fixture
    def lookup(self, workspace_api):
        return DatabaseRedirects(workspace_api.service.ports.workspace.unique_keys)

    @pytest.fixture
    def commit_redirect(self, workspace_api):
        links = {}

        async def commit_redirect(slug, destination):
            if destination is None:
                answer = await workspace_api.ask("DELETE", f"/links/{links.pop(slug)}")
            elif slug in links:
                patch = {"link": {"destination_url": destination}}
                answer = await workspace_api.ask("PATCH", f"/links/{links[slug]}", patch)
            else:
                answer = await workspace_api.ask(
                    "POST", "/links", {"link": {"name": "L", "slug": slug, "destination_url": destination}}
                )
                links[slug] = answer.json["data"]["id"]
            assert answer.status == 200

        return commit_redirect
