"""Links read where they are kept pass the kit of the mapping: there is no second write that could be lost."""

import pytest

from service_core.testing.edge import EdgeMapConformance
from service_core.workspace.links.edge import LinkTable
from tests.workspace.conftest import Office


class TestWorkspaceStore(EdgeMapConformance):
    @pytest.fixture
    async def office(self, tmp_path):
        office = Office(tmp_path)
        async with office.service:
            yield await office.open()

    @pytest.fixture
    def edge(self, office):
        return LinkTable(office.service.ports.workspace)

    @pytest.fixture
    def publish(self, office):
        links = {}

        async def publish(slug, destination):
            if destination is None:
                answer = await office.ask("DELETE", f"/links/{links.pop(slug)}")
            elif slug in links:
                patch = {"link": {"destination_url": destination}}
                answer = await office.ask("PATCH", f"/links/{links[slug]}", patch)
            else:
                answer = await office.ask(
                    "POST", "/links", {"link": {"name": "L", "slug": slug, "destination_url": destination}}
                )
                links[slug] = answer.json["data"]["id"]
            assert answer.status == 200

        return publish
