"""Link domains of a workspace, cared for by people with the role for it."""

import re

import pytest

from hosts.roles.tasks import build_domain_verification
from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.kernel.operations import Scope
from service_core.workspace.links.domains.models import LinkDomainClaim
from service_core.workspace.links.domains.verification import MAX_DNS_QUERIES

HOST = "go.shop.example"


async def list_domains(deployment):
    async with deployment.store.transactions.read(deployment.workspace.id) as unit:
        return await unit.resources.list_all(LinkDomainClaim)


async def claim_domain(deployment, person):
    page = f"{deployment.settings}/domains"
    assert (await person.send(page, page, host=HOST)).location == f"{page}?done=claimed"
    (found,) = await list_domains(deployment)
    return page, found


async def test_domain_is_added_verified_and_used(deployment):
    person = await deployment.signed_in("ann", "owner")
    page, claim = await claim_domain(deployment, person)
    shown = (await person.get(page)).text
    assert "Not verified yet" in shown
    name = re.search(r"_touchpoint\S+", shown)[0]
    text = re.search(r"touchpoint-verification=\w+", shown)[0]
    early = await person.send(page, f"{page}/{claim.id}", action="verify")
    assert early.status == 422
    assert f"{name} has no TXT record" in early.text
    deployment.service.ports.dns.zone_records[name] = ["v=spf1 -all", text]
    assert (
        await person.send(page, f"{page}/{claim.id}", action="verify")
    ).location == f"{page}?done=verified"
    shown = (await person.get(page)).text
    assert re.search(r"Verified\s+8 July 2026", shown)
    assert str(claim.link_domain.id) in shown
    assert text not in shown


async def test_domain_can_be_removed_only_without_links(deployment):
    person = await deployment.signed_in("bob", "admin")
    page, claim = await claim_domain(deployment, person)
    deployment.service.ports.dns.zone_records[claim.txt_record_name] = [claim.verification_value]
    await person.send(page, f"{page}/{claim.id}", action="verify")
    link = {
        "name": "Reel",
        "destination_url": "https://example.com/a",
        "domain_id": str(claim.link_domain.id),
    }
    minted = await create_named_key_clamping_rate_limit_to_plan(
        deployment.store.credentials, deployment.workspace, deployment.clock(), name="Bot", scopes=Scope
    )
    status, made = await deployment.api("POST", "/v1/links", minted.secret, {"link": link})
    assert (status, made["data"]["url"][: len(HOST) + 8]) == (200, f"https://{HOST}")
    refused = await person.send(page, f"{page}/{claim.id}", action="remove")
    assert refused.status == 409
    assert f"1 link uses {HOST}. Delete them first" in refused.text
    await deployment.api("DELETE", f"/v1/links/{made['data']['id']}", minted.secret)
    assert (await person.send(page, f"{page}/{claim.id}", action="remove")).location == f"{page}?done=let-go"
    assert await list_domains(deployment) == []
    assert "bob@example.com" in (await person.get(f"{deployment.settings}/audit")).text


@pytest.mark.parametrize(
    ("host", "status", "said"),
    [
        ("https://go.shop.example/a", 422, "without https://"),
        ("go.example.com", 409, "of the deployment"),
        ("", 422, "no public host"),
    ],
)
async def test_invalid_domain_shows_an_error(deployment, host, status, said):
    person = await deployment.signed_in("ann", "owner")
    page = f"{deployment.settings}/domains"
    answer = await person.send(page, page, host=host)
    assert answer.status == status
    assert said in answer.text
    assert await list_domains(deployment) == []


async def test_unavailable_dns_shows_an_error(deployment):
    person = await deployment.signed_in("ann", "owner")
    page, claim = await claim_domain(deployment, person)
    deployment.service.ports.dns.down = True
    answer = await person.send(page, f"{page}/{claim.id}", action="verify")
    assert (answer.status, "does not answer" in answer.text) == (503, True)


async def test_missing_dns_record_is_shown_until_restored(deployment):
    person = await deployment.signed_in("ann", "owner")
    page, claim = await claim_domain(deployment, person)
    records = deployment.service.ports.dns
    records.zone_records[claim.txt_record_name] = [claim.verification_value]
    await person.send(page, f"{page}/{claim.id}", action="verify")
    link = {
        "name": "Reel",
        "destination_url": "https://example.com/a",
        "domain_id": str(claim.link_domain.id),
    }
    minted = await create_named_key_clamping_rate_limit_to_plan(
        deployment.store.credentials, deployment.workspace, deployment.clock(), name="Bot", scopes=Scope
    )
    assert (await deployment.api("POST", "/v1/links", minted.secret, {"link": link}))[0] == 200
    records.zone_records.clear()
    for days, result in (
        (1, "new links are refused from 16 July 2026 on"),
        (7, "new links are refused until"),
    ):
        deployment.clock.advance(days=days)
        await build_domain_verification(deployment.service.ports).recheck_and_notify_all(deployment.clock())
        shown = " ".join((await person.get(page)).text.split())
        assert "gone since 9 July 2026" in shown
        assert result in shown
        assert claim.verification_value in shown
    assert {letter.to for letter in deployment.messages} == {"ann@example.com"}
    records.zone_records[claim.txt_record_name] = [claim.verification_value]
    await person.send(page, f"{page}/{claim.id}", action="verify")
    assert "gone since" not in (await person.get(page)).text


async def test_repeated_verification_is_rate_limited(deployment):
    person = await deployment.signed_in("ann", "owner")
    page, claim = await claim_domain(deployment, person)
    fields = {"csrf": await person.token(page), "action": "verify"}
    reported = [(await person.post(f"{page}/{claim.id}", fields)).status for _ in range(MAX_DNS_QUERIES + 1)]
    assert reported == [422] * MAX_DNS_QUERIES + [429]
    deployment.service.ports.limits.down = True
    assert (await person.post(f"{page}/{claim.id}", fields)).status == 503


@pytest.mark.parametrize("role", ["member", "viewer"])
async def test_other_roles_cannot_open_the_domains_page(deployment, role):
    person = await deployment.signed_in("cid", role)
    csrf = await person.token("/app/workspaces")
    page = f"{deployment.settings}/domains"
    assert "/domains" not in (await person.get(f"{deployment.settings}/members")).body
    assert (await person.get(page)).status == 403
    assert (await person.post(page, {"csrf": csrf, "host": HOST})).status == 403
    assert await list_domains(deployment) == []


async def test_foreign_forms_and_domains_of_others_change_nothing(deployment):
    ann = await deployment.signed_in("ann", "owner")
    page, claim = await claim_domain(deployment, ann)
    assert (await ann.post(f"{page}/{claim.id}", {"action": "remove"})).status == 403
    await deployment.enrol("eve", "owner", deployment.other)
    eve = await deployment.person().sign_in("eve@example.com")
    csrf, theirs = (
        await eve.token("/app/workspaces"),
        f"/app/w/{deployment.other.workspace.public_id}/domains",
    )
    for path in (f"{page}/{claim.id}", f"{theirs}/{claim.id}", f"{theirs}/x"):
        for action in ("verify", "remove", "else"):
            assert (await eve.post(path, {"csrf": csrf, "action": action})).status == 404
    assert await list_domains(deployment) == [claim]
