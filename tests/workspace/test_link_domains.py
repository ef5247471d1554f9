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
from service_core.workspace.links.domains.models import normalize_host
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


async def refused(workspace_api, domain_id, key="shop"):
    answer = await workspace_api.ask("POST", "/links", {"link": {**LINK, "domain_id": domain_id}}, key=key)
    assert answer.refusal == (422, "unknown_domain", "link.domain_id")
    return answer.bytes


async def test_a_link_stands_on_a_domain_that_was_proved(workspace_api, domain_owner):
    domain = await domain_owner.own(HOST)
    made = await workspace_api.link(domain_id=domain, slug="spring")
    assert (made["data"]["domain_id"], made["data"]["url"]) == (domain, f"https://{HOST}/spring")
    assert made["diff"]["effects"][0]["key"] == f"{HOST}/spring"
    assert made["diff"]["effects"][0]["summary"] == f"{HOST}/spring now leads to https://example.com/a"
    assert await workspace_api.links() == [made["data"]]
    gone = (await workspace_api.ask("DELETE", f"/links/{made['data']['id']}")).json
    assert gone["diff"]["effects"][0]["key"] == f"{HOST}/spring"


async def test_a_domain_alone_gets_a_generated_slug_and_a_slug_alone_the_shared_domain(
    workspace_api, domain_owner
):
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


async def test_a_slug_is_unique_on_its_domain_and_free_on_every_other(workspace_api, domain_owner):
    domain = await domain_owner.own(HOST)
    for on in ({}, {"domain_id": domain}):
        await workspace_api.link(slug="spring", **on)
        again = await workspace_api.ask("POST", "/links", {"link": {**LINK, "slug": "spring", **on}})
        assert again.refusal == (409, "slug_taken", "link.slug")


async def test_a_domain_that_is_not_the_workspaces_own_is_unknown_whatever_else_it_is(
    workspace_api, domain_owner, other_domain_owner
):
    theirs = await other_domain_owner.own("go.other.example")
    unproved = str((await domain_owner.claim("new.shop.example")).link_domain.id)
    gone = await domain_owner.own("old.shop.example")
    await domain_owner.remove("old.shop.example")
    answers = {await refused(workspace_api, one) for one in (theirs, unproved, gone, str(new_id()))}
    assert len(answers) == 1
    assert (
        await workspace_api.ask("POST", "/links", {"link": {**LINK, "domain_id": theirs}}, key="other")
    ).status == 200


async def test_a_claim_without_proof_keeps_the_owner_away_from_nothing(
    workspace_api, domain_owner, other_domain_owner
):
    squatted = await other_domain_owner.claim(HOST)
    domain = await domain_owner.own(HOST)
    assert (await workspace_api.link(domain_id=domain))["data"]["domain_id"] == domain
    with pytest.raises(Unprocessable, match="no TXT record"):
        await other_domain_owner.prove(squatted)
    await refused(workspace_api, domain, key="other")


async def test_a_host_belongs_to_one_workspace_until_it_lets_go(
    workspace_api, domain_owner, other_domain_owner
):
    domain = await domain_owner.own(HOST)
    late = await other_domain_owner.claim(HOST)
    other_domain_owner.publish(late)
    with pytest.raises(Conflict, match="another workspace"):
        await other_domain_owner.prove(late)
    await domain_owner.remove(HOST)
    assert (await other_domain_owner.prove(late)).data["verified_at"]
    await refused(workspace_api, domain)


async def test_of_two_who_prove_a_host_at_once_one_has_it(tmp_path, workspace_url):
    workspace_api = WorkspaceApi(tmp_path, storage={"events": "memory://", "workspace": workspace_url})
    async with workspace_api.service:
        one = DomainOwner(await workspace_api.open())
        both = (one, DomainOwner(workspace_api, "other", one.dns))
        claims = [await each.claim(HOST) for each in both]
        for each, claimed in zip(both, claims, strict=True):
            each.publish(claimed)
        told = await asyncio.gather(*map(DomainOwner.prove, both, claims), return_exceptions=True)
        assert sorted(isinstance(each, Conflict) for each in told) == [False, True]
        verified = [claimed for each in both for claimed in await each.claims() if claimed.is_verified]
        assert len(verified) == 1
        assert await is_verified_link_host(workspace_api.service.ports.workspace.unique_keys, HOST)


async def test_the_proof_of_one_workspace_proves_nothing_for_another(domain_owner, other_domain_owner):
    domain_owner.publish(other_domain_owner.claimed(HOST))
    domain_owner.dns.book[f"_touchpoint.{HOST}"].append("touchpoint-verification=")
    with pytest.raises(Unprocessable, match=f"_touchpoint.{HOST}"):
        await domain_owner.prove(await domain_owner.claim(HOST))


async def test_a_proof_stands_once_found_and_is_asked_for_again_after_a_removal(domain_owner):
    await domain_owner.own(HOST)
    (claimed,) = await domain_owner.claims()
    domain_owner.dns.down = True
    assert not (await domain_owner.prove(claimed)).applied
    await domain_owner.remove(HOST)
    again = await domain_owner.claim(HOST)
    assert (again.verified_at, again.verification_value) == (None, claimed.verification_value)
    with pytest.raises(ServiceUnavailable):
        await domain_owner.prove(again)


async def test_a_domain_is_claimed_once_and_not_without_end(workspace_api, domain_owner):
    await domain_owner.claim(HOST)
    with pytest.raises(Conflict, match="already"):
        await domain_owner.claim(f" {HOST.upper()}. ")
    with pytest.raises(Conflict, match="of the deployment"):
        await domain_owner.claim("go.example.com")
    for n in range(MAX_DOMAINS - 1):
        await domain_owner.claim(f"go{n}.shop.example")
    with pytest.raises(Conflict, match="at most"):
        await domain_owner.claim("one-more.shop.example")


async def test_a_deployment_that_follows_no_links_takes_no_domains(api_without_link_domain):
    with pytest.raises(Unprocessable, match="no link domain"):
        await DomainOwner(api_without_link_domain).claim(HOST)


async def test_a_domain_with_links_stays_until_they_are_gone(workspace_api, domain_owner):
    domain = await domain_owner.own(HOST)
    link = (await workspace_api.link(domain_id=domain))["data"]
    with pytest.raises(Conflict, match=f"1 link uses {HOST}"):
        await domain_owner.remove(HOST)
    await workspace_api.ask("DELETE", f"/links/{link['id']}")
    assert (await domain_owner.remove(HOST)).applied
    assert await domain_owner.claims() == []


async def test_a_link_comes_back_to_a_domain_of_its_workspace_alone(
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


async def test_every_step_is_in_the_audit_and_none_is_taken_back(workspace_api, domain_owner):
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


async def test_a_domain_of_another_workspace_can_neither_be_proved_nor_removed(
    domain_owner, other_domain_owner
):
    claimed = await domain_owner.claim(HOST)
    domain_owner.publish(claimed)
    for attempt in (
        other_domain_owner.prove,
        lambda one: other_domain_owner.prove(other_domain_owner.claimed(one.name)),
    ):
        with pytest.raises(NotFound):
            await attempt(claimed)


async def test_a_name_server_that_is_away_changes_nothing(workspace_api):
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
def test_a_host_is_kept_as_requests_write_it(typed, host):
    assert normalize_host(typed) == host


@pytest.mark.parametrize(
    "typed",
    [
        "", "shop", "localhost", "shop.local", "10.0.0.1", "[::1]", "1.2", "https://go.shop.example", "go.shop.example/a",
        "go.shop.example:443", "*.shop.example", "-go.shop.example", "go_.shop.example", "a..b.example", "go shop.example",
        "a" * 64 + ".example", ".".join(["abcdefgh"] * 28), "\ud800.example",
    ],
)  # fmt: skip
def test_what_is_no_public_host_is_refused(typed):
    with pytest.raises(Unprocessable) as refusal:
        normalize_host(typed)
    assert refusal.value.code == "invalid_field"


@given(st.text(max_size=300))
def test_any_text_is_a_host_or_refused(text):
    try:
        host = normalize_host(text)
    except Unprocessable:
        return
    assert host == normalize_host(host)
    assert re.fullmatch("[a-z0-9.-]{1,241}", host)


def test_no_two_claims_have_the_same_proof(workspace_api):
    one, two = DomainOwner(workspace_api), DomainOwner(workspace_api, "other")
    proofs = {each.claimed(host).verification_value for each in (one, two) for host in (HOST, "b.example")}
    assert len(proofs) == 4
    assert UUID(hex=min(proofs).partition("=")[2])
