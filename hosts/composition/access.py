"""The parts of the wing `access` that answer questions of people and programs, put together once."""

from collections.abc import Mapping
from typing import Any

from hosts.composition.ports import Ports
from service_core.access.admission import Admission
from service_core.access.authenticate import Authenticator
from service_core.access.members.sign_in import SignIn
from service_core.access.oauth.addresses import Addresses
from service_core.access.oauth.consent import Consents
from service_core.access.oauth.exchange import Exchange
from service_core.access.oauth.register import Registrar
from service_core.access.passkeys.ceremonies import PasskeySignIn
from service_core.access.passkeys.model import relying_party
from service_core.access.places import Places
from service_core.access.requests.decide import Approvals
from service_core.access.signup.apply import Applications
from service_core.access.signup.settle import Settlement
from service_core.access.signup.welcome import Welcome
from service_core.access.workspaces import Workspaces
from service_core.kernel.settings import Settings


def access_parts(settings: Settings, ports: Ports) -> Mapping[Any, Any]:
    """Type -> the one value of that type."""
    store, clock, web_url = ports.workspace, ports.clock, settings.http.web_url
    workspaces = Workspaces(store)
    addresses = Addresses(settings.http.public_url)
    sign_in = SignIn(store, store, ports.passwords, ports.limits, clock)
    return {
        Places: Places(settings.http.public_url, web_url),
        Workspaces: workspaces,
        Admission: Admission(
            Authenticator(store, clock),
            store,
            store,
            workspaces,
            clock,
            internal_token=settings.http.internal_token,
        ),
        SignIn: sign_in,
        PasskeySignIn: PasskeySignIn(
            store,
            store,
            store,
            sign_in=sign_in,
            limiter=ports.limits,
            clock=clock,
            webauthn=ports.passkeys,
            party=relying_party(web_url),
        ),
        Addresses: addresses,
        Consents: Consents(store, store, addresses, clock),
        Exchange: Exchange(store, store, store, addresses, clock),
        Registrar: Registrar(store, ports.limits, clock),
        Approvals: Approvals(store, store, workspaces, clock),
        Welcome: Welcome(store, store, workspaces, clock),
        Applications: Applications(
            store,
            ports.checkout,
            ports.mail,
            limiter=ports.limits,
            clock=clock,
            mode=settings.signup.mode,
            web_url=web_url,
        ),
        Settlement: Settlement(
            store, ports.checkout, store, ports.mail, limiter=ports.limits, clock=clock, web_url=web_url
        ),
    }
