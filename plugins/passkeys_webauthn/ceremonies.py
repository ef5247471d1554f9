"""The registration and authentication ceremonies, by the library ``webauthn``."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from webauthn import (
    base64url_to_bytes,
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import (
    bytes_to_base64url,
    decode_credential_public_key,
    decoded_public_key_to_cryptography,
)
from webauthn.helpers.structs import (
    AuthenticationCredential,
    AuthenticatorAssertionResponse,
    AuthenticatorAttestationResponse,
    AuthenticatorSelectionCriteria,
    AuthenticatorTransport,
    PublicKeyCredentialDescriptor,
    RegistrationCredential,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from service_core.plugin import (
    CHALLENGE_LIFETIME,
    Account,
    AuthenticationResponse,
    InvalidPasskeyResponse,
    Passkey,
    RegistrationResponse,
    RelyingParty,
    VerifiedRegistration,
)

_RELYING_PARTY_NAME: Final = "Touchpoint"
_MAX_CREDENTIAL_ID_BYTES: Final = 1023
"""Longest id of a credential in bytes, by the standard."""
_TIMEOUT_MILLISECONDS: Final = int(CHALLENGE_LIFETIME.total_seconds() * 1000)

_Parameters = ParamSpec("_Parameters")
_Read = TypeVar("_Read")


def _library_errors_as_invalid_response(verify: Callable[_Parameters, _Read]) -> Callable[_Parameters, _Read]:
    @wraps(verify)
    def verify_or_raise_invalid_response(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Read:
        try:
            return verify(*args, **kwargs)
        except Exception as fault:
            # The library lets through what its parsers raise, and all they read was sent by a browser.
            raise InvalidPasskeyResponse(str(fault)) from fault

    return verify_or_raise_invalid_response


def build_registration_options(
    party: RelyingParty, challenge: str, account: Account, excluded_passkeys: Sequence[Passkey]
) -> str:
    """Returns options for a discoverable passkey with user verification."""
    options = generate_registration_options(
        rp_id=party.id,
        rp_name=_RELYING_PARTY_NAME,
        user_id=account.id.bytes,
        user_name=account.email,
        user_display_name=account.name or account.email,
        challenge=base64url_to_bytes(challenge),
        timeout=_TIMEOUT_MILLISECONDS,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED,
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[_credential_descriptor(passkey) for passkey in excluded_passkeys],
    )
    return options_to_json(options)


@_library_errors_as_invalid_response
def verify_registration_response_of_browser(
    party: RelyingParty, challenge: str, attested: RegistrationResponse
) -> VerifiedRegistration:
    """Returns the new passkey; no attestation of the device is required."""
    response = AuthenticatorAttestationResponse(attested.client_data, attested.attestation)
    # The id that counts is the one in the attestation; the library compares the other two alone.
    registration = verify_registration_response(
        credential=RegistrationCredential(id="", raw_id=b"", response=response),
        expected_challenge=base64url_to_bytes(challenge),
        expected_rp_id=party.id,
        expected_origin=party.origin,
        require_user_verification=True,
    )
    if len(registration.credential_id) > _MAX_CREDENTIAL_ID_BYTES:
        raise InvalidPasskeyResponse("the credential id is too long")
    # A key that cannot be read would be found out by its first use alone.
    decoded_public_key_to_cryptography(decode_credential_public_key(registration.credential_public_key))
    ways = frozenset(way.value for way in _known_transports(attested.transports))
    return VerifiedRegistration(
        registration.credential_id, registration.credential_public_key, registration.sign_count, ways
    )


def build_authentication_options(party: RelyingParty, challenge: str) -> str:
    """Returns options for any passkey that the browser has for the host."""
    options = generate_authentication_options(
        rp_id=party.id,
        challenge=base64url_to_bytes(challenge),
        timeout=_TIMEOUT_MILLISECONDS,
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json(options)


@_library_errors_as_invalid_response
def verify_assertion_and_return_counter(
    party: RelyingParty, challenge: str, asserted: AuthenticationResponse, passkey: Passkey
) -> int:
    """Returns the signed counter."""
    response = AuthenticatorAssertionResponse(
        asserted.client_data, asserted.authenticator_data, asserted.signature, asserted.user_handle
    )
    signed = verify_authentication_response(
        credential=AuthenticationCredential(
            id=bytes_to_base64url(asserted.credential_id), raw_id=asserted.credential_id, response=response
        ),
        expected_challenge=base64url_to_bytes(challenge),
        expected_rp_id=party.id,
        expected_origin=party.origin,
        credential_public_key=passkey.public_key,
        credential_current_sign_count=passkey.counter,
        require_user_verification=True,
    )
    return signed.new_sign_count


def _credential_descriptor(passkey: Passkey) -> PublicKeyCredentialDescriptor:
    return PublicKeyCredentialDescriptor(
        id=passkey.credential_id, transports=_known_transports(passkey.transports)
    )


def _known_transports(named: Iterable[str]) -> list[AuthenticatorTransport]:
    known = {transport.value: transport for transport in AuthenticatorTransport}
    return [known[name] for name in sorted(named) if name in known]
