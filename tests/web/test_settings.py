"""Keys, people and programs of a workspace, cared for by people with the role for it."""

import re

import pytest

AGENT_KEY = re.compile(r"dk_agent_[A-Za-z0-9_-]{43}")
WRITE_KEY = re.compile(r"dk_[0-9a-f]{32}")


async def find_key_by_name(deployment, name="Report key"):
    keys = await deployment.store.credentials.list_keys(deployment.workspace.id)
    return next(key for key in keys if key.name == name)


async def test_new_key_is_shown_once_and_works(deployment):
    person = await deployment.signed_in("ann", "owner")
    page = f"{deployment.settings}/keys"
    answer = await person.follow(await person.send(page, page, name="Report key", scope="service:read"))
    [secret] = AGENT_KEY.findall(answer.body)
    assert answer.headers["Cache-Control"] == "no-store"
    assert (await deployment.api("GET", "/v1/workspace", secret))[0] == 200
    assert not AGENT_KEY.search((await person.get(page)).body)


async def test_named_key_is_renamed_limited_and_revoked(deployment):
    person = await deployment.signed_in("ann", "owner")
    page = f"{deployment.settings}/keys"
    made = await person.follow(await person.send(page, page, name="Report key", scope="service:read"))
    [secret] = AGENT_KEY.findall(made.body)
    path = f"{page}/{(await find_key_by_name(deployment)).id}"
    assert (await person.send(page, path, action="rename", name="Another name")).status == 303
    assert (await person.send(page, path, action="limit", rate_limit="7")).status == 303
    assert (await find_key_by_name(deployment, "Another name")).rate_limit == 7
    assert (await person.send(page, path, action="revoke")).status == 303
    assert (await deployment.api("GET", "/v1/workspace", secret))[0] == 401
    assert (await person.send(page, path, action="rename", name="Back")).status == 404


@pytest.mark.parametrize(("kind", "form"), [("agent", AGENT_KEY), ("write", WRITE_KEY)])
async def test_regenerated_key_replaces_the_old_one(deployment, kind, form):
    person = await deployment.signed_in("bob", "admin")
    page = f"{deployment.settings}/keys"
    answer = await person.follow(await person.send(page, f"{page}/{kind}/regenerate"))
    [secret] = form.findall(answer.body)
    live = [
        key
        for key in await deployment.store.credentials.list_keys(deployment.workspace.id)
        if key.revoked_at is None
    ]
    assert sorted(key.kind for key in live) == ["agent", "write"]
    if kind == "agent":
        assert (
            await deployment.api("GET", "/v1/workspace", deployment.initialized_deployment.agent_key.secret)
        )[0] == 401
        assert (await deployment.api("GET", "/v1/workspace", secret))[0] == 200


async def test_admin_can_create_only_read_keys(deployment):
    person = await deployment.signed_in("bob", "admin")
    page = f"{deployment.settings}/keys"
    assert "service:write:links" not in (await person.get(page)).text
    assert (await person.send(page, page, name="x", scope="service:write:links")).status == 403
    made = await person.follow(await person.send(page, page, name="Report key", scope="service:read"))
    assert (made.status, len(AGENT_KEY.findall(made.body))) == (200, 1)
    path = f"{page}/{(await find_key_by_name(deployment)).id}"
    assert (await person.send(page, path, action="limit", rate_limit="7")).status == 403


@pytest.mark.parametrize("role", ["member", "viewer"])
async def test_other_roles_cannot_open_the_keys_page(deployment, role):
    person = await deployment.signed_in("cid", role)
    csrf = await person.token("/app/workspaces")
    page = f"{deployment.settings}/keys"
    assert (await person.get(page)).status == 403
    for path in (page, f"{page}/agent/regenerate"):
        assert (await person.post(path, {"csrf": csrf, "name": "x", "scope": "service:read"})).status == 403


async def test_another_workspace_is_not_found(deployment):
    person = await deployment.signed_in("ann", "owner")
    csrf = await person.token("/app/workspaces")
    foreign = deployment.other.workspace.public_id
    for section in ("keys", "members", "connections"):
        theirs = await person.get(f"/app/w/{foreign}/{section}")
        nobodys = await person.get(f"/app/w/{'A' * 12}/{section}")
        assert theirs.status == nobodys.status == 404
        assert theirs.body == nobodys.body
    for key in (deployment.other.agent_key, deployment.other.write_key):
        path = f"{deployment.settings}/keys/{key.credential.id}"
        assert (await person.post(path, {"csrf": csrf, "action": "revoke"})).status == 404


async def test_invitation_adds_a_new_member(deployment):
    ann, bob = await deployment.signed_in("ann", "owner"), deployment.person()
    page = f"{deployment.settings}/members"
    assert (await ann.send(page, page, email="Bob@Example.com", role="member")).status == 303
    [letter] = deployment.messages
    path = "/app" + letter.text.split("/app", 1)[1].split()[0]
    shown = await bob.get(path)
    assert "bob@example.com" in shown.text
    assert "Example Shop" in shown.text
    joined = await bob.send(
        path, "/app/invitation", token=path.partition("=")[2], name="Bob", password="a good long password"
    )
    assert joined.status == 303
    assert "member" in (await bob.get("/app/workspaces")).text
    assert (await deployment.person().get(path)).status == 404


async def test_invitation_can_be_accepted_only_by_its_address(deployment):
    ann = await deployment.signed_in("ann", "owner")
    await deployment.enrol("eve", "owner", deployment.other)
    eve = await deployment.person().sign_in("eve@example.com")
    page = f"{deployment.settings}/members"
    await ann.send(page, page, email="bob@example.com", role="admin")
    path = "/app" + deployment.messages[-1].text.split("/app", 1)[1].split()[0]
    token = path.partition("=")[2]
    csrf = await eve.token("/app/workspaces")
    assert (await eve.post("/app/invitation", {"csrf": csrf, "token": token})).status == 403
    assert (await eve.get(f"{deployment.settings}/members")).status == 404


async def test_existing_account_signs_in_to_accept(deployment):
    ann = await deployment.signed_in("ann", "owner")
    await deployment.enrol("eve", "owner", deployment.other)
    page = f"{deployment.settings}/members"
    await ann.send(page, page, email="eve@example.com", role="viewer")
    path = "/app" + deployment.messages[-1].text.split("/app", 1)[1].split()[0]
    token = path.partition("=")[2]
    stranger = deployment.person()
    assert "Sign in to accept" in (await stranger.get(path)).text
    csrf = await stranger.token("/app/sign-in")
    taken = await stranger.post(
        "/app/invitation", {"csrf": csrf, "token": token, "password": "a hijacked password"}
    )
    assert taken.location.startswith("/app/sign-in")
    eve = await deployment.person().sign_in("eve@example.com")
    assert (await eve.send(path, "/app/invitation", token=token)).status == 303
    assert (await eve.get(f"{deployment.settings}/members")).status == 200


async def test_invitation_can_be_withdrawn(deployment):
    ann = await deployment.signed_in("ann", "owner")
    page = f"{deployment.settings}/members"
    await ann.send(page, page, email="bob@example.com", role="member")
    path = "/app" + deployment.messages[-1].text.split("/app", 1)[1].split()[0]
    [offer] = await deployment.store.invitations.list_open_invitations(deployment.workspace.id)
    await ann.send(page, f"{deployment.settings}/invitations/{offer.id}")
    assert (await deployment.person().get(path)).status == 404


async def test_only_owners_change_roles_and_the_last_owner_stays(deployment):
    ann, bob = await deployment.signed_in("ann", "owner"), await deployment.signed_in("bob", "admin")
    cid = await deployment.enrol("cid", "viewer")
    page = f"{deployment.settings}/members"
    accounts = {
        one.account_id: one for one in await deployment.store.members.list_members(deployment.workspace.id)
    }
    owner = next(key for key, one in accounts.items() if one.role == "owner")
    assert (await bob.send(page, f"{page}/{cid.id}", action="role", role="owner")).status == 403
    assert (await bob.send(page, f"{page}/{cid.id}", action="remove")).status == 403
    assert (await ann.send(page, f"{page}/{cid.id}", action="role", role="member")).status == 303
    assert (await ann.send(page, f"{page}/{owner}", action="role", role="viewer")).status == 409
    assert (await ann.send(page, f"{page}/{owner}", action="remove")).status == 409
    assert (await ann.send(page, f"{page}/{cid.id}", action="remove")).status == 303
    assert len(await deployment.store.members.list_members(deployment.workspace.id)) == 2


@pytest.mark.parametrize(
    ("form", "status"), [({}, 401), ({"keep_keys": "no"}, 401), ({"keep_keys": "yes"}, 200)]
)
async def test_keys_of_a_removed_member_end_unless_the_owner_keeps_them(deployment, form, status):
    ann, bob = await deployment.signed_in("ann", "owner"), await deployment.signed_in("bob", "admin")
    keys, members = f"{deployment.settings}/keys", f"{deployment.settings}/members"
    created = await bob.follow(await bob.send(keys, keys, name="Report key", scope="service:read"))
    [secret] = AGENT_KEY.findall(created.body)
    listed = await deployment.store.members.list_members(deployment.workspace.id)
    admin = next(member.account_id for member in listed if member.role == "admin")
    assert (await ann.send(members, f"{members}/{admin}", action="remove", **form)).status == 303
    assert (await deployment.api("GET", "/v1/workspace", secret))[0] == status


async def test_admin_cannot_invite_an_owner(deployment):
    bob = await deployment.signed_in("bob", "admin")
    page = f"{deployment.settings}/members"
    assert (await bob.send(page, page, email="x@example.com", role="owner")).status == 403
    assert not deployment.messages
