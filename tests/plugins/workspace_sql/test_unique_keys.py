"""Share links on each database: found by their digest alone, and looked at by many at once."""

import asyncio
from datetime import timedelta

from service_core.access.api_keys import create_workspace_with_keys
from service_core.access.models import RequestInterface
from service_core.changes.actor import Actor
from service_core.kernel.ids import new_id, new_token, sha256_hex
from service_core.workspace.share_links.models import ShareLink, ShareLinkStatus, share_token_key
from tests.plugins.workspace_sql.conftest import NOW


def make_share_link(workspace, token):
    return ShareLink(
        id=new_id(), workspace_id=workspace.id, name="Weekly", object_type="report", object_id=new_id(),
        show_workspace_name=False, expires_at=None, token_hint=token[-4:], digest=sha256_hex(token),
        created_at=NOW, updated_at=NOW, created_via=RequestInterface.API,
        created_by=Actor(type="key", id=new_id(), client_id=None),
    )  # fmt: skip


async def save_share_link(directory, workspace):
    """A new link, and its token."""
    token = new_token()
    link = make_share_link(workspace, token)
    async with directory.transactions.write(workspace.id) as unit:
        await unit.resources.save(link)
    return link, token


async def test_share_link_is_found_by_its_token_digest_in_any_workspace(directory, initialized_deployment):
    other = (await create_workspace_with_keys(directory.credentials, NOW, name="Other")).workspace
    for workspace in (initialized_deployment.workspace, other):
        link, token = await save_share_link(directory, workspace)
        assert await directory.unique_keys.find_live_by_unique_key(
            ShareLink, share_token_key(sha256_hex(token))
        ) == (workspace, link)
    assert (
        await directory.unique_keys.find_live_by_unique_key(
            ShareLink, share_token_key(sha256_hex(new_token()))
        )
        is None
    )


async def test_revocation_is_visible_to_every_process_immediately(
    directory, initialized_deployment, open_directory
):
    link, token = await save_share_link(directory, initialized_deployment.workspace)
    async with open_directory() as second:
        assert (
            await second.unique_keys.find_live_by_unique_key(ShareLink, share_token_key(sha256_hex(token)))
        )[1].status is ShareLinkStatus.ACTIVE
        async with directory.transactions.write(initialized_deployment.workspace.id) as unit:
            await unit.resources.save(
                link.model_copy(update={"status": ShareLinkStatus.REVOKED, "revoked_at": NOW})
            )
        assert (
            await second.unique_keys.find_live_by_unique_key(ShareLink, share_token_key(sha256_hex(token)))
        )[1].status is ShareLinkStatus.REVOKED


async def test_concurrent_views_are_all_counted(directory, initialized_deployment, open_directory):
    link, _ = await save_share_link(directory, initialized_deployment.workspace)
    async with open_directory() as second:
        looks = [
            store.share_link_views.count_view(link.id, NOW + timedelta(seconds=number))
            for number in range(10)
            for store in (directory, second)
        ]
        await asyncio.gather(*looks)
    other_link, _ = await save_share_link(directory, initialized_deployment.workspace)
    await directory.share_link_views.count_view(other_link.id, NOW)
    found = await directory.share_link_views.get_view_counts(
        initialized_deployment.workspace.id, [link.id, new_id()]
    )
    assert {link_id: views.count for link_id, views in found.items()} == {link.id: 20}
    assert await directory.share_link_views.get_view_counts(initialized_deployment.workspace.id, []) == {}
    other = (await create_workspace_with_keys(directory.credentials, NOW, name="Other")).workspace
    assert await directory.share_link_views.get_view_counts(other.id, [link.id]) == {}
