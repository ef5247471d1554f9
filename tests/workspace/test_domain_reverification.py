"""Proofs of link domains are looked at again: who has lost one is told, and what is not known changes nothing."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.roles.tasks import build_domain_verification
from service_core.access.email_sender import EmailSenderUnavailable
from service_core.access.fixed_window import FixedWindowCounter
from service_core.access.members.membership import add_member_with_password_link_if_needed
from service_core.access.roles import Role
from service_core.changes.actor import Actor
from service_core.changes.operations import list_audit
from service_core.changes.schemas import AuditQuery
from service_core.kernel.errors import Conflict, TooManyRequests, Unprocessable
from service_core.kernel.ids import new_id
from service_core.workspace.links.domains.link_hosts import is_verified_link_host
from service_core.workspace.links.domains.models import MISSING_RECORD_GRACE, LinkDomainClaim
from service_core.workspace.links.domains.verification import MAX_DNS_QUERIES
from service_core.workspace.links.redirect_lookup import DatabaseRedirects
from tests.fixtures.port_stubs import RecordingMailer
from tests.workspace.conftest import NOW
from tests.workspace.link_domains import DomainOwner

HOST = "go.shop.example"
PEOPLE = {
    "ann@shop.example": Role.OWNER,
    "bob@shop.example": Role.ADMIN,
    "cid@shop.example": Role.MEMBER,
    "dee@shop.example": Role.VIEWER,
}


def pop_messages(reverified_domain):
    """Recipient and subject of the e-mails since the last call."""
    messages, reverified_domain.mailer.messages = reverified_domain.mailer.messages, []
    return [(message.to, message.subject) for message in messages]


class ReverifiedDomain(DomainOwner):
    """Somebody with a proved domain, and the look at it."""

    async def open(self):
        store = self.office.service.ports.workspace
        for email, role in PEOPLE.items():
            await add_member_with_password_link_if_needed(
                store.accounts,
                store.members,
                self.caller.workspace,
                email=email,
                role=role,
                now=self.office.now,
            )
        self.mailer = RecordingMailer()
        proofs = replace(
            build_domain_verification(self.office.service.ports),
            txt_records=self.dns,
            email_sender=self.mailer,
        )
        self.proofs, self.domain = proofs, await self.own(HOST)
        return self

    async def looks(self, **later):
        self.office.later(**later)
        await self.proofs.recheck_and_notify_all(self.office.now)
        return (await self.claims())[0]

    async def lose(self, **later):
        self.dns.zone_records.clear()
        return await self.looks(**later)

    async def audit(self):
        request = AuditQuery(resource_type="link_domain")
        return (await list_audit.handler(request, caller=self.caller, executor=self.writes)).entries


@pytest.fixture
async def reverified_domain(workspace_api):
    return await ReverifiedDomain(workspace_api).open()


def mails_to_managers(subject):
    return [(email, subject) for email in ("ann@shop.example", "bob@shop.example")]


async def test_valid_proof_is_checked_without_a_write(reverified_domain):
    before = await reverified_domain.audit()
    for _ in range(3):
        assert (await reverified_domain.looks(days=10)).is_record_present
    assert await reverified_domain.audit() == before
    assert pop_messages(reverified_domain) == []


async def test_missing_record_is_mailed_once_to_domain_managers(reverified_domain):
    claim = await reverified_domain.lose(hours=6)
    assert claim.missing_since == reverified_domain.office.now
    assert reverified_domain.mailer.messages[0].text.endswith(f"\n{claim.zone_file_line}\n")
    assert (
        f"by {reverified_domain.office.now + MISSING_RECORD_GRACE:%Y-%m-%d}"
        in reverified_domain.mailer.messages[0].text
    )
    assert pop_messages(reverified_domain) == mails_to_managers(f"The DNS record of {HOST} is gone")
    assert await reverified_domain.looks(hours=6) == claim
    assert pop_messages(reverified_domain) == []
    newest = (await reverified_domain.audit())[0]
    assert (newest.action, newest.resource.label) == ("update", HOST)
    assert (newest.actor.type, newest.actor.name, newest.undoable) == ("system", "DNS check", False)
    assert [change.field for change in newest.changes] == ["missing_since"]


async def test_domain_works_during_the_grace_period(reverified_domain):
    await reverified_domain.lose(hours=6)
    await reverified_domain.looks(days=6)
    assert (await reverified_domain.office.link(domain_id=reverified_domain.domain))["data"][
        "url"
    ].startswith(f"https://{HOST}/")


async def test_restored_record_is_recognised_by_check_or_verification(reverified_domain):
    for request in (False, True):
        claim = await reverified_domain.lose(hours=6)
        reverified_domain.publish(claim)
        back = (
            await reverified_domain.looks(hours=6)
            if not request
            else (await reverified_domain.prove(claim), await reverified_domain.claims())[1][0]
        )
        assert (back.missing_since, back.verified_at) == (None, claim.verified_at)
    assert len(pop_messages(reverified_domain)) == 4


async def test_unavailable_dns_never_changes_the_domain_status(reverified_domain):
    reverified_domain.dns.down = True
    for _ in range(5):
        assert (await reverified_domain.looks(days=10)).is_record_present
    reverified_domain.dns.down = False
    claim = await reverified_domain.lose(hours=6)
    reverified_domain.dns.down = True
    assert await reverified_domain.looks(days=30) == claim
    assert pop_messages(reverified_domain) == mails_to_managers(f"The DNS record of {HOST} is gone")


async def test_lapsed_domain_redirects_and_accepts_no_new_links(reverified_domain):
    workspace_api, store = reverified_domain.office, reverified_domain.office.service.ports.workspace
    link = (await workspace_api.link(domain_id=reverified_domain.domain, slug="spring"))["data"]
    await reverified_domain.lose(hours=6)
    claim = await reverified_domain.looks(days=7)
    assert (claim.is_verified, claim.lapsed_at) == (True, workspace_api.now)
    assert pop_messages(reverified_domain)[2:] == mails_to_managers(f"{HOST} takes no new links")
    for dry_run in (True, False):
        wanted = {
            "name": "Reel",
            "destination_url": "https://example.com/a",
            "domain_id": reverified_domain.domain,
        }
        refused = await workspace_api.ask("POST", "/links", {"link": wanted, "dry_run": dry_run})
        assert (refused.status, refused.json["code"], refused.json["field"]) == (
            422, "unknown_domain", "link.domain_id",
        )  # fmt: skip
        assert HOST in refused.json["error"]
    assert (await DatabaseRedirects(store.unique_keys).find(f"{HOST}/spring")).destination_url == link[
        "destination_url"
    ]
    changed = await workspace_api.ask("PATCH", f"/links/{link['id']}", {"link": {"name": "Autumn reel"}})
    assert (changed.status, changed.json["data"]["url"]) == (200, f"https://{HOST}/spring")
    assert await is_verified_link_host(store.unique_keys, HOST)
    assert (await workspace_api.link(slug="a"))["data"]["url"] == "https://go.example.com/a"


async def test_lapsed_domain_whose_record_is_back_takes_links_again(reverified_domain):
    await reverified_domain.office.link(domain_id=reverified_domain.domain)
    await reverified_domain.lose(hours=6)
    claim = await reverified_domain.looks(days=7)
    with pytest.raises(Unprocessable, match="no TXT record"):
        await reverified_domain.prove(claim)
    reverified_domain.publish(claim)
    assert (await reverified_domain.prove(claim)).applied
    assert (await reverified_domain.office.link(domain_id=reverified_domain.domain))["applied"]


async def test_lapsed_host_can_be_claimed_when_it_has_no_links(reverified_domain):
    workspace_api, store = reverified_domain.office, reverified_domain.office.service.ports.workspace
    rival = DomainOwner(workspace_api, "other", reverified_domain.dns)
    link = (await workspace_api.link(domain_id=reverified_domain.domain))["data"]
    await reverified_domain.lose(hours=6)
    theirs = await rival.claim(HOST)
    rival.publish(theirs)
    await reverified_domain.looks(days=7)
    with pytest.raises(Conflict, match="another workspace"):
        await rival.prove(theirs)
    await workspace_api.ask("DELETE", f"/links/{link['id']}")
    claim = await reverified_domain.looks(hours=6)
    assert (claim.verified_at, claim.missing_since, claim.lapsed_at) == (None, None, None)
    assert pop_messages(reverified_domain)[4:] == mails_to_managers(
        f"{HOST} is no link domain of shop any more"
    )
    assert not await is_verified_link_host(store.unique_keys, HOST)
    assert (await rival.prove(theirs)).applied
    assert pop_messages(reverified_domain) == []
    assert not (await reverified_domain.looks(hours=6)).is_verified


async def test_refused_mail_does_not_block_other_recipients(reverified_domain):
    other = await DomainOwner(reverified_domain.office, "other", reverified_domain.dns).own(
        "go.other.example"
    )
    reverified_domain.mailer.refused = {"ann@shop.example"}
    with pytest.raises(EmailSenderUnavailable):
        await reverified_domain.lose(hours=6)
    assert pop_messages(reverified_domain) == mails_to_managers(f"The DNS record of {HOST} is gone")[1:]
    claims = [
        *await reverified_domain.claims(),
        *await DomainOwner(reverified_domain.office, "other").claims(),
    ]
    assert {claim.missing_since for claim in claims} == {reverified_domain.office.now}
    assert str(claims[1].link_domain.id) == other


async def test_failed_mail_is_sent_at_the_next_check_without_repeats(reverified_domain):
    reverified_domain.mailer.refused = {*PEOPLE}
    for _ in range(3):
        with pytest.raises(EmailSenderUnavailable):
            await reverified_domain.lose(hours=1)
    reverified_domain.mailer.refused = {"ann@shop.example"}
    with pytest.raises(EmailSenderUnavailable):
        await reverified_domain.looks(hours=1)
    gone = mails_to_managers(f"The DNS record of {HOST} is gone")
    assert pop_messages(reverified_domain) == gone[1:]
    reverified_domain.mailer.refused = set()
    claim, before = await reverified_domain.looks(hours=1), await reverified_domain.audit()
    assert pop_messages(reverified_domain) == gone[:1]
    assert (await reverified_domain.looks(hours=1), pop_messages(reverified_domain)) == (claim, [])
    assert await reverified_domain.audit() == before
    assert [change.field for change in before[0].changes] == ["missing_since"]
    reverified_domain.publish(claim)
    assert "to_tell" not in (await reverified_domain.prove(claim)).data


async def test_late_mail_describes_the_current_status_or_is_dropped(reverified_domain):
    reverified_domain.mailer.refused = {"bob@shop.example"}
    with pytest.raises(EmailSenderUnavailable):
        await reverified_domain.lose(hours=1)
    reverified_domain.publish((await reverified_domain.claims())[0])
    await reverified_domain.looks(hours=1)
    assert pop_messages(reverified_domain) == mails_to_managers(f"The DNS record of {HOST} is gone")[:1]
    with pytest.raises(EmailSenderUnavailable):
        await reverified_domain.lose(hours=1)
    pop_messages(reverified_domain)
    reverified_domain.mailer.refused = set()
    await reverified_domain.looks(days=7)
    assert pop_messages(reverified_domain) == mails_to_managers(f"{HOST} is no link domain of shop any more")


async def test_failed_mail_is_retried_for_seven_days(reverified_domain):
    await reverified_domain.lose(hours=1)
    pop_messages(reverified_domain)
    reverified_domain.mailer.refused = {*PEOPLE}
    with pytest.raises(EmailSenderUnavailable):
        await reverified_domain.looks(days=7)
    reverified_domain.mailer.refused = {"bob@shop.example"}
    with pytest.raises(EmailSenderUnavailable):
        await reverified_domain.looks(days=6)
    assert (
        pop_messages(reverified_domain) == mails_to_managers(f"{HOST} is no link domain of shop any more")[:1]
    )
    reverified_domain.mailer.refused = set()
    await reverified_domain.looks(days=1)
    assert pop_messages(reverified_domain) == []


async def test_former_domain_managers_get_no_mail(reverified_domain):
    reverified_domain.mailer.refused = {*PEOPLE}
    with pytest.raises(EmailSenderUnavailable):
        await reverified_domain.lose(hours=1)
    reverified_domain.mailer.refused = set()
    store = reverified_domain.office.service.ports.workspace
    [bob] = [
        each
        for each in await store.members.list_members(reverified_domain.caller.workspace.id)
        if each.role is Role.ADMIN
    ]
    await store.members.save_member_unless_no_owner_left(replace(bob, role=Role.VIEWER), bob.created_at)
    await reverified_domain.looks(hours=1)
    assert pop_messages(reverified_domain) == mails_to_managers(f"The DNS record of {HOST} is gone")[:1]
    await store.members.save_member_unless_no_owner_left(bob, bob.created_at)
    await reverified_domain.looks(hours=1)
    assert pop_messages(reverified_domain) == []


async def test_concurrent_checks_send_each_mail_once(reverified_domain):
    reverified_domain.dns.zone_records.clear()
    await asyncio.gather(
        *(reverified_domain.proofs.recheck_and_notify_all(reverified_domain.office.now) for _ in range(3))
    )
    assert sorted(pop_messages(reverified_domain)) == mails_to_managers(f"The DNS record of {HOST} is gone")


async def test_domain_removed_during_the_check_stays_removed(reverified_domain):
    class Slow:
        async def query_txt(self, name):
            await reverified_domain.remove(HOST)
            return ()

    await replace(reverified_domain.proofs, txt_records=Slow()).recheck_and_notify_all(
        reverified_domain.office.now
    )
    assert (await reverified_domain.claims(), pop_messages(reverified_domain)) == ([], [])


async def test_domain_verified_during_the_check_stays_verified(reverified_domain):
    claim = await reverified_domain.lose(hours=6)

    class Slow:
        async def query_txt(self, name):
            reverified_domain.publish(claim)
            await reverified_domain.prove(claim)
            return ()

    await replace(reverified_domain.proofs, txt_records=Slow()).recheck_and_notify_all(
        reverified_domain.office.now
    )
    assert (await reverified_domain.claims())[0].is_record_present
    assert len(pop_messages(reverified_domain)) == 2


async def test_dns_checks_are_limited_to_60_per_15_minutes_and_workspace(reverified_domain):
    class Hand:
        """Counts by the clock of the office."""

        windows = FixedWindowCounter(lambda: reverified_domain.office.now)

        async def consume(self, *fields):
            return self.windows.consume(*fields)

    rival = DomainOwner(reverified_domain.office, "other", reverified_domain.dns)
    reverified_domain.limiter = rival.limiter = Hand()
    claim = await rival.claim("a.example")
    for _ in range(MAX_DNS_QUERIES):
        with pytest.raises(Unprocessable):
            await rival.prove(claim)
    rival.publish(claim)
    with pytest.raises(TooManyRequests):
        await rival.prove(claim)
    assert not (await reverified_domain.prove((await reverified_domain.claims())[0])).applied
    with pytest.raises(Unprocessable):
        await reverified_domain.prove(await reverified_domain.claim("b.example"))
    reverified_domain.office.later(minutes=15)
    assert (await rival.prove(claim)).applied


@given(st.lists(st.tuples(st.sampled_from(["there", "gone", "unknown"]), st.integers(1, 100)), max_size=30))
def test_domain_lapses_after_seven_days_of_failed_checks(looks):
    nobody = Actor(type="system", id=new_id(), client_id=None)
    kept = {"created_at": NOW, "updated_at": NOW, "created_via": "api", "created_by": nobody}
    claim = LinkDomainClaim(id=new_id(), workspace_id=new_id(), name=HOST, **kept).mark_verified(NOW)
    now, gone_since = NOW, None
    for answer, hours in looks:
        now += timedelta(hours=hours)
        if answer == "there":
            claim, gone_since = claim.mark_verified(now), None
        elif answer == "gone":
            claim, gone_since = (
                claim.mark_missing_lapsed_or_pending_again(now, in_use=True),
                gone_since or now,
            )
            assert (claim.lapsed_at is not None) == (now - gone_since >= MISSING_RECORD_GRACE)
        assert claim.is_verified
        assert claim.missing_since == gone_since
