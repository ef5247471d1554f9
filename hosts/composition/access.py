"""The parts of the wing `access` that answer questions of people and programs, put together once."""

from collections.abc import Mapping
from typing import Any

from hosts.composition.ports import Ports
from service_core.access.key_authentication import KeyAuthenticator
from service_core.access.key_requests.approvals import Approvals
from service_core.access.members.sign_in import SignIn
from service_core.access.oauth.authorization import AuthorizationEndpoint
from service_core.access.oauth.client_registration import ClientRegistration
from service_core.access.oauth.metadata import ServerMetadata
from service_core.access.oauth.token_endpoint import TokenEndpoint
from service_core.access.passkeys.ceremonies import PasskeySignIn
from service_core.access.passkeys.models import build_relying_party
from service_core.access.public_urls import PublicUrls
from service_core.access.request_authentication import RequestAuthenticator
from service_core.access.signup.create import SignupCreator
from service_core.access.signup.payment_page import PaymentPage
from service_core.access.signup.payments import SignupPayments
from service_core.access.workspace_cache import WorkspaceCache
from service_core.kernel.settings import Settings


def build_access_components(settings: Settings, ports: Ports) -> Mapping[Any, Any]:
    """Type -> the one value of that type."""
    store, clock, web_url = ports.workspace, ports.clock, settings.http.effective_app_url
    workspaces = WorkspaceCache(store)
    addresses = ServerMetadata(settings.http.effective_api_url)
    sign_in = SignIn(store, store, ports.passwords, ports.limits, clock)
    return {
        PublicUrls: PublicUrls(settings.http.effective_api_url, web_url),
        WorkspaceCache: workspaces,
        RequestAuthenticator: RequestAuthenticator(
            KeyAuthenticator(store, clock),
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
            party=build_relying_party(web_url),
        ),
        ServerMetadata: addresses,
        AuthorizationEndpoint: AuthorizationEndpoint(store, store, addresses, clock),
        TokenEndpoint: TokenEndpoint(store, store, store, addresses, clock),
        ClientRegistration: ClientRegistration(store, ports.limits, clock),
        Approvals: Approvals(store, store, workspaces, clock),
        PaymentPage: PaymentPage(store, store, workspaces, clock),
        SignupCreator: SignupCreator(
            store,
            ports.checkout,
            ports.mail,
            limiter=ports.limits,
            clock=clock,
            mode=settings.signup.mode,
            web_url=web_url,
        ),
        SignupPayments: SignupPayments(
            store, ports.checkout, store, ports.mail, limiter=ports.limits, clock=clock, web_url=web_url
        ),
    }
