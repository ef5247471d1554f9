"""Link domains of a workspace's own (contract 5.2): who may stand links on which host."""

import asyncio
import re
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.changes.operations import AuditQuery, list_audit
from service_core.kernel.errors import Conflict, NotFound, Unavailable503, Unprocessable
from service_core.kernel.ids import new_id
from service_core.testing.dns import WrittenRecords
from service_core.workspace.links.domains.model import host_of
from service_core.workspace.links.domains.plan import MOST
from service_core.workspace.links.domains.resource import is_link_host
from tests.workspace.conftest import Office
from tests.workspace.domains import Registrar

HOST = "go.shop.example"
LINK = {"name": "Reel", "destination_url": "https://example.com/a"}


@pytest.fixture
def registrar(office):
    return Registrar(office)


@pytest.fixture
def rival(office, registrar):
    """The other workspace, which sees the same DNS."""
    return Registrar(office, "other", registrar.dns)


async def refused(office, domain_id, key="shop"):
    answer = await office.ask("POST", "/links", {"link": {**LINK, "domain_id": domain_id}}, key=key)
    assert answer.refusal == (422, "unknown_domain", "link.domain_id")
    return answer.bytes


async def test_a_link_stands_on_a_domain_that_was_proved(office, registrar):
    domain = await registrar.own(HOST)
    made = await office.link(domain_id=domain, slug="spring")
    assert (made["data"]["domain_id"], made["data"]["url"]) == (domain, f"https://{HOST}/spring")
    assert made["diff"]["effects"][0]["key"] == f"{HOST}/spring"
    assert made["diff"]["effects"][0]["summary"] == f"{HOST}/spring now leads to https://example.com/a"
    assert await office.links() == [made["data"]]
    gone = (await office.ask("DELETE", f"/links/{made['data']['id']}")).json
    assert gone["diff"]["effects"][0]["key"] == f"{HOST}/spring"


async def test_a_domain_alone_gets_a_generated_slug_and_a_slug_alone_the_shared_domain(office, registrar):
    domain = await registrar.own(HOST)
    assert re.fullmatch(
        rf"https://{HOST}/[A-Za-z0-9]{{7}}", (await office.link(domain_id=domain))["data"]["url"]
    )
    assert (await office.link(slug="a"))["data"]["url"] == "https://go.example.com/a"
    planned = {"link": {**LINK, "domain_id": domain}, "dry_run": True}
    (effect,) = (await office.ask("POST", "/links", planned)).json["diff"]["effects"]
    assert (effect["summary"], effect["key"]) == (
        f"A new slug on {HOST} now leads to https://example.com/a",
        None,
    )


async def test_a_slug_is_unique_on_its_domain_and_free_on_every_other(office, registrar):
    domain = await registrar.own(HOST)
    for on in ({}, {"domain_id": domain}):
        await office.link(slug="spring", **on)
        again = await office.ask("POST", "/links", {"link": {**LINK, "slug": "spring", **on}})
        assert again.refusal == (409, "slug_taken", "link.slug")


async def test_a_domain_that_is_not_the_workspaces_own_is_unknown_whatever_else_it_is(
    office, registrar, rival
):
    theirs = await rival.own("go.other.example")
    unproved = str((await registrar.claim("new.shop.example")).domain.id)
    gone = await registrar.own("old.shop.example")
    await registrar.remove("old.shop.example")
    answers = {await refused(office, one) for one in (theirs, unproved, gone, str(new_id()))}
    assert len(answers) == 1
    assert (
        await office.ask("POST", "/links", {"link": {**LINK, "domain_id": theirs}}, key="other")
    ).status == 200


async def test_a_claim_without_proof_keeps_the_owner_away_from_nothing(office, registrar, rival):
    squatted = await rival.claim(HOST)
    domain = await registrar.own(HOST)
    assert (await office.link(domain_id=domain))["data"]["domain_id"] == domain
    with pytest.raises(Unprocessable, match="no TXT record"):
        await rival.prove(squatted)
    await refused(office, domain, key="other")


async def test_a_host_belongs_to_one_workspace_until_it_lets_go(office, registrar, rival):
    domain = await registrar.own(HOST)
    late = await rival.claim(HOST)
    rival.publish(late)
    with pytest.raises(Conflict, match="another workspace"):
        await rival.prove(late)
    await registrar.remove(HOST)
    assert (await rival.prove(late)).data["verified_at"]
    await refused(office, domain)


async def test_of_two_who_prove_a_host_at_once_one_has_it(tmp_path, workspace_url):
    office = Office(tmp_path, storage={"events": "memory://", "workspace": workspace_url})
    async with office.service:
        one = Registrar(await office.open())
        both = (one, Registrar(office, "other", one.dns))
        claims = [await each.claim(HOST) for each in both]
        for each, claimed in zip(both, claims, strict=True):
            each.publish(claimed)
        told = await asyncio.gather(*map(Registrar.prove, both, claims), return_exceptions=True)
        assert sorted(isinstance(each, Conflict) for each in told) == [False, True]
        verified = [claimed for each in both for claimed in await each.claims() if claimed.is_verified]
        assert len(verified) == 1
        assert await is_link_host(office.service.ports.workspace, HOST)


async def test_the_proof_of_one_workspace_proves_nothing_for_another(registrar, rival):
    registrar.publish(rival.claimed(HOST))
    registrar.dns.book[f"_touchpoint.{HOST}"].append("touchpoint-verification=")
    with pytest.raises(Unprocessable, match=f"_touchpoint.{HOST}"):
        await registrar.prove(await registrar.claim(HOST))


async def test_a_proof_stands_once_found_and_is_asked_for_again_after_a_removal(registrar):
    await registrar.own(HOST)
    (claimed,) = await registrar.claims()
    registrar.dns.down = True
    assert not (await registrar.prove(claimed)).applied
    await registrar.remove(HOST)
    again = await registrar.claim(HOST)
    assert (again.verified_at, again.proof) == (None, claimed.proof)
    with pytest.raises(Unavailable503):
        await registrar.prove(again)


async def test_a_domain_is_claimed_once_and_not_without_end(office, registrar):
    await registrar.claim(HOST)
    with pytest.raises(Conflict, match="already"):
        await registrar.claim(f" {HOST.upper()}. ")
    with pytest.raises(Conflict, match="of the deployment"):
        await registrar.claim("go.example.com")
    for n in range(MOST - 1):
        await registrar.claim(f"go{n}.shop.example")
    with pytest.raises(Conflict, match="at most"):
        await registrar.claim("one-more.shop.example")


async def test_a_deployment_that_follows_no_links_takes_no_domains(bare):
    with pytest.raises(Unprocessable, match="no link domain"):
        await Registrar(bare).claim(HOST)


async def test_a_domain_with_links_stays_until_they_are_gone(office, registrar):
    domain = await registrar.own(HOST)
    link = (await office.link(domain_id=domain))["data"]
    with pytest.raises(Conflict, match=f"1 link stands on {HOST}"):
        await registrar.remove(HOST)
    await office.ask("DELETE", f"/links/{link['id']}")
    assert (await registrar.remove(HOST)).applied
    assert await registrar.claims() == []


async def test_a_link_comes_back_to_a_domain_of_its_workspace_alone(office, registrar, rival):
    domain = await registrar.own(HOST)
    link = (await office.link(domain_id=domain, slug="spring"))["data"]
    gone = (await office.ask("DELETE", f"/links/{link['id']}")).json["audit_id"]
    await registrar.remove(HOST)
    assert await rival.own(HOST) == domain
    for body in ({}, {"dry_run": True}):
        undone = await office.ask("POST", f"/audit/{gone}/undo", body)
        assert (undone.status, undone.json["code"]) == (409, "resource_changed")
    await rival.remove(HOST)
    await registrar.own(HOST)
    undone = (await office.ask("POST", f"/audit/{gone}/undo")).json
    assert (undone["data"]["id"], undone["data"]["url"]) == (link["id"], f"https://{HOST}/spring")


async def test_every_step_is_in_the_audit_and_none_is_taken_back(office, registrar):
    await registrar.own(HOST)
    await registrar.remove(HOST)
    page = await list_audit.handler(
        AuditQuery(resource_type="link_domain"), who=registrar.who, writes=registrar.writes
    )
    assert [(entry.action, entry.resource.label, entry.undoable) for entry in page.entries] == [
        ("delete", HOST, False), ("update", HOST, False), ("create", HOST, False),
    ]  # fmt: skip
    for entry in page.entries:
        undone = await office.ask("POST", f"/audit/{entry.id}/undo")
        assert undone.json["code"] in {"not_undoable", "undo_create_unsupported"}


async def test_a_domain_of_another_workspace_can_neither_be_proved_nor_removed(registrar, rival):
    claimed = await registrar.claim(HOST)
    registrar.publish(claimed)
    for attempt in (rival.prove, lambda one: rival.prove(rival.claimed(one.name))):
        with pytest.raises(NotFound):
            await attempt(claimed)


async def test_a_name_server_that_is_away_changes_nothing(office):
    registrar = Registrar(office, dns=WrittenRecords(down=True))
    claimed = await registrar.claim(HOST)
    with pytest.raises(Unavailable503):
        await registrar.prove(claimed)
    assert await registrar.claims() == [claimed]


@pytest.mark.parametrize(
    ("typed", "host"),
    [
        ("Go.Shop.Example.", "go.shop.example"),
        ("straße.example", "strasse.example"),
        ("bücher.example", "xn--bcher-kva.example"),
    ],
)
def test_a_host_is_kept_as_requests_write_it(typed, host):
    assert host_of(typed) == host


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
        host_of(typed)
    assert refusal.value.code == "invalid_field"


@given(st.text(max_size=300))
def test_any_text_is_a_host_or_refused(text):
    try:
        host = host_of(text)
    except Unprocessable:
        return
    assert host == host_of(host)
    assert re.fullmatch("[a-z0-9.-]{1,241}", host)


def test_no_two_claims_have_the_same_proof(office):
    one, two = Registrar(office), Registrar(office, "other")
    proofs = {each.claimed(host).proof for each in (one, two) for host in (HOST, "b.example")}
    assert len(proofs) == 4
    assert UUID(hex=min(proofs).partition("=")[2])
