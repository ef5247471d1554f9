"""Link domains of a workspace's own: who may stand links on which host."""

import asyncio
import re
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.changes.operations import list_audit
from service_core.changes.schemas import AuditQuery
from service_core.kernel.errors import Conflict, NotFound, ServiceUnavailable, Unprocessable
from service_core.kernel.ids import new_id
from service_core.testing.txt_records import FakeTxtRecords
from service_core.workspace.links.domains.link_hosts import is_verified_link_host
from service_core.workspace.links.domains.models import normalize_public_host
from service_core.workspace.links.domains.verification import MAX_DOMAINS
from tests.workspace.conftest import WorkspaceApi
from tests.workspace.link_domains import DomainOwner

HOST = "go.shop.example"
LINK = {"name": "Reel", "destination_url": "https://example.com/a"}


@pytest.fixture
def domain_owner(workspace_api):
    return DomainOwner(workspace_api)


@pytest.fixture
def other_domain_owner(workspace_api, domain_owner):
    """The other workspace, which sees the same DNS."""
    return DomainOwner(workspace_api, "other", domain_owner.dns)


async def refused_removal(workspace_api, domain_id, key="shop"):
    answer = await workspace_api.ask("POST", "/links", {"link": {**LINK, "domain_id": domain_id}}, key=key)
    assert answer.refusal == (422, "unknown_domain", "link.domain_id")
    return answer.bytes


async def test_link_can_use_a_verified_domain(workspace_api, domain_owner):
    domain = await domain_owner.own(HOST)
    made = await workspace_api.link(domain_id=domain, slug="spring")
    assert (made["data"]["domain_id"], made["data"]["url"]) == (domain, f"https://{HOST}/spring")
    assert made["diff"]["effects"][0]["key"] == f"{HOST}/spring"
    assert made["diff"]["effects"][0]["summary"] == f"{HOST}/spring now leads to https://example.com/a"
    assert await workspace_api.links() == [made["data"]]
    gone = (await workspace_api.ask("DELETE", f"/links/{made['data']['id']}")).json
    assert gone["diff"]["effects"][0]["key"] == f"{HOST}/spring"


async def test_slug_and_domain_have_defaults(workspace_api, domain_owner):
    domain = await domain_owner.own(HOST)
    assert re.fullmatch(
        rf"https://{HOST}/[A-Za-z0-9]{{7}}", (await workspace_api.link(domain_id=domain))["data"]["url"]
    )
    assert (await workspace_api.link(slug="a"))["data"]["url"] == "https://go.example.com/a"
    planned = {"link": {**LINK, "domain_id": domain}, "dry_run": True}
    (effect,) = (await workspace_api.ask("POST", "/links", planned)).json["diff"]["effects"]
    assert (effect["summary"], effect["key"]) == (
        f"A new slug on {HOST} now leads to https://example.com/a",
        None,
    )


async def test_slug_is_unique_per_domain(workspace_api, domain_owner):
    domain = await domain_owner.own(HOST)
    for on in ({}, {"domain_id": domain}):
        await workspace_api.link(slug="spring", **on)
        again = await workspace_api.ask("POST", "/links", {"link": {**LINK, "slug": "spring", **on}})
        assert again.refusal == (409, "slug_taken", "link.slug")


async def test_domain_of_another_workspace_is_unknown(workspace_api, domain_owner, other_domain_owner):
    theirs = await other_domain_owner.own("go.other.example")
    unproved = str((await domain_owner.claim("new.shop.example")).link_domain.id)
    gone = await domain_owner.own("old.shop.example")
    await domain_owner.remove("old.shop.example")
    answers = {await refused_removal(workspace_api, one) for one in (theirs, unproved, gone, str(new_id()))}
    assert len(answers) == 1
    assert (
        await workspace_api.ask("POST", "/links", {"link": {**LINK, "domain_id": theirs}}, key="other")
    ).status == 200


async def test_unverified_claim_does_not_block_other_workspaces(
    workspace_api, domain_owner, other_domain_owner
):
    squatted = await other_domain_owner.claim(HOST)
    domain = await domain_owner.own(HOST)
    assert (await workspace_api.link(domain_id=domain))["data"]["domain_id"] == domain
    with pytest.raises(Unprocessable, match="no TXT record"):
        await other_domain_owner.prove(squatted)
    await refused_removal(workspace_api, domain, key="other")


async def test_verified_host_belongs_to_one_workspace_until_removed(
    workspace_api, domain_owner, other_domain_owner
):
    domain = await domain_owner.own(HOST)
    late = await other_domain_owner.claim(HOST)
    other_domain_owner.publish(late)
    with pytest.raises(Conflict, match="another workspace"):
        await other_domain_owner.prove(late)
    await domain_owner.remove(HOST)
    assert (await other_domain_owner.prove(late)).data["verified_at"]
    await refused_removal(workspace_api, domain)


async def test_one_of_two_concurrent_verifications_succeeds(tmp_path, workspace_url):
    workspace_api = WorkspaceApi(tmp_path, storage={"events": "memory://", "workspace": workspace_url})
    async with workspace_api.service:
        one = DomainOwner(await workspace_api.open())
        both = (one, DomainOwner(workspace_api, "other", one.dns))
        claims = [await each.claim(HOST) for each in both]
        for each, claimed in zip(both, claims, strict=True):
            each.publish(claimed)
        result = await asyncio.gather(*map(DomainOwner.prove, both, claims), return_exceptions=True)
        assert sorted(isinstance(each, Conflict) for each in result) == [False, True]
        verified = [claimed for each in both for claimed in await each.claims() if claimed.is_verified]
        assert len(verified) == 1
        assert await is_verified_link_host(workspace_api.service.ports.workspace.unique_keys, HOST)


async def test_verification_record_is_bound_to_its_workspace(domain_owner, other_domain_owner):
    domain_owner.publish(other_domain_owner.claimed(HOST))
    domain_owner.dns.zone_records[f"_touchpoint.{HOST}"].append("touchpoint-verification=")
    with pytest.raises(Unprocessable, match=f"_touchpoint.{HOST}"):
        await domain_owner.prove(await domain_owner.claim(HOST))


async def test_verification_is_kept_and_needed_again_after_removal(domain_owner):
    await domain_owner.own(HOST)
    (claimed,) = await domain_owner.claims()
    domain_owner.dns.down = True
    assert not (await domain_owner.prove(claimed)).applied
    await domain_owner.remove(HOST)
    again = await domain_owner.claim(HOST)
    assert (again.verified_at, again.verification_value) == (None, claimed.verification_value)
    with pytest.raises(ServiceUnavailable):
        await domain_owner.prove(again)


async def test_repeated_claim_is_refused_and_claims_are_limited(workspace_api, domain_owner):
    await domain_owner.claim(HOST)
    with pytest.raises(Conflict, match="already"):
        await domain_owner.claim(f" {HOST.upper()}. ")
    with pytest.raises(Conflict, match="of the deployment"):
        await domain_owner.claim("go.example.com")
    for n in range(MAX_DOMAINS - 1):
        await domain_owner.claim(f"go{n}.shop.example")
    with pytest.raises(Conflict, match="at most"):
        await domain_owner.claim("one-more.shop.example")


async def test_deployment_without_redirects_refuses_domains(api_without_link_domain):
    with pytest.raises(Unprocessable, match="no link domain"):
        await DomainOwner(api_without_link_domain).claim(HOST)


async def test_domain_with_links_cannot_be_removed(workspace_api, domain_owner):
    domain = await domain_owner.own(HOST)
    link = (await workspace_api.link(domain_id=domain))["data"]
    with pytest.raises(Conflict, match=f"1 link uses {HOST}"):
        await domain_owner.remove(HOST)
    await workspace_api.ask("DELETE", f"/links/{link['id']}")
    assert (await domain_owner.remove(HOST)).applied
    assert await domain_owner.claims() == []


async def test_undo_of_a_link_needs_a_domain_of_its_workspace(
    workspace_api, domain_owner, other_domain_owner
):
    domain = await domain_owner.own(HOST)
    link = (await workspace_api.link(domain_id=domain, slug="spring"))["data"]
    gone = (await workspace_api.ask("DELETE", f"/links/{link['id']}")).json["audit_id"]
    await domain_owner.remove(HOST)
    assert await other_domain_owner.own(HOST) == domain
    for body in ({}, {"dry_run": True}):
        undone = await workspace_api.ask("POST", f"/audit/{gone}/undo", body)
        assert (undone.status, undone.json["code"]) == (409, "resource_changed")
    await other_domain_owner.remove(HOST)
    await domain_owner.own(HOST)
    undone = (await workspace_api.ask("POST", f"/audit/{gone}/undo")).json
    assert (undone["data"]["id"], undone["data"]["url"]) == (link["id"], f"https://{HOST}/spring")


async def test_domain_changes_are_audited_and_cannot_be_undone(workspace_api, domain_owner):
    await domain_owner.own(HOST)
    await domain_owner.remove(HOST)
    page = await list_audit.handler(
        AuditQuery(resource_type="link_domain"), caller=domain_owner.caller, executor=domain_owner.writes
    )
    assert [(entry.action, entry.resource.label, entry.undoable) for entry in page.entries] == [
        ("delete", HOST, False), ("update", HOST, False), ("create", HOST, False),
    ]  # fmt: skip
    for entry in page.entries:
        undone = await workspace_api.ask("POST", f"/audit/{entry.id}/undo")
        assert undone.json["code"] in {"not_undoable", "undo_create_unsupported"}


async def test_domain_of_another_workspace_cannot_be_verified_or_removed(domain_owner, other_domain_owner):
    claimed = await domain_owner.claim(HOST)
    domain_owner.publish(claimed)
    for attempt in (
        other_domain_owner.prove,
        lambda one: other_domain_owner.prove(other_domain_owner.claimed(one.name)),
    ):
        with pytest.raises(NotFound):
            await attempt(claimed)


async def test_unavailable_dns_changes_nothing(workspace_api):
    domain_owner = DomainOwner(workspace_api, dns=FakeTxtRecords(down=True))
    claimed = await domain_owner.claim(HOST)
    with pytest.raises(ServiceUnavailable):
        await domain_owner.prove(claimed)
    assert await domain_owner.claims() == [claimed]


@pytest.mark.parametrize(
    ("typed", "host"),
    [
        ("Go.Shop.Example.", "go.shop.example"),
        ("straße.example", "strasse.example"),
        ("bücher.example", "xn--bcher-kva.example"),
    ],
)
def test_host_is_stored_in_request_form(typed, host):
    assert normalize_public_host(typed) == host


@pytest.mark.parametrize(
    "typed",
    [
        "", "shop", "localhost", "shop.local", "10.0.0.1", "[::1]", "1.2", "https://go.shop.example", "go.shop.example/a",
        "go.shop.example:443", "*.shop.example", "-go.shop.example", "go_.shop.example", "a..b.example", "go shop.example",
        "a" * 64 + ".example", ".".join(["abcdefgh"] * 28), "\ud800.example",
    ],
)  # fmt: skip
def test_non_public_host_is_refused(typed):
    with pytest.raises(Unprocessable) as refusal:
        normalize_public_host(typed)
    assert refusal.value.code == "invalid_field"


@given(st.text(max_size=300))
def test_any_text_is_a_host_or_refused(text):
    try:
        host = normalize_public_host(text)
    except Unprocessable:
        return
    assert host == normalize_public_host(host)
    assert re.fullmatch("[a-z0-9.-]{1,241}", host)


def test_verification_tokens_are_unique(workspace_api):
    one, two = DomainOwner(workspace_api), DomainOwner(workspace_api, "other")
    proofs = {each.claimed(host).verification_value for each in (one, two) for host in (HOST, "b.example")}
    assert len(proofs) == 4
    assert UUID(hex=min(proofs).partition("=")[2])
