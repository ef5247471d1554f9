"""The conformance kit of the port ``secret_cipher``: the tests that every cipher or vault passes.

Override two fixtures and inherit the tests::

    class TestMyCipher(SecretCipherConformance):
        @pytest.fixture
        def cipher(self):
            return open_my_cipher(KEY)

        @pytest.fixture
        def other_cipher(self):
            return open_my_cipher(ANOTHER_KEY)
"""

from base64 import b64encode
from typing import Final

import pytest

from service_core.commerce.credentials.ports import CipherUnavailable, SecretCipher

SECRET: Final = b'{"token": "hush-hush-hush"}'
OWNER: Final = b"workspace and provider"


class SecretCipherConformance:
    """All tests of the kit; override the fixtures ``cipher`` and ``other_cipher``."""

    @pytest.fixture
    def cipher(self) -> SecretCipher:
        """Returns the adapter under test."""
        raise pytest.UsageError("override the fixture `cipher` with the adapter under test")

    @pytest.fixture
    def other_cipher(self) -> SecretCipher:
        """Returns the adapter under test of another deployment, with another key."""
        raise pytest.UsageError("override the fixture `other_cipher` with an adapter that has another key")

    @pytest.mark.parametrize("secret", [SECRET, b"", bytes(range(256)) * 40])
    def test_decrypted_secret_is_the_encrypted_one(self, cipher: SecretCipher, secret: bytes) -> None:
        """Every byte of a secret comes back for its owner."""
        assert cipher.decrypt(cipher.encrypt(secret, OWNER), OWNER) == secret

    def test_ciphertext_does_not_show_the_secret(self, cipher: SecretCipher) -> None:
        """No part of a secret of eight bytes stands in the ciphertext, in the clear, reversed, or in base64 or hexadecimal."""
        shown = cipher.encrypt(SECRET, OWNER)
        for text in (SECRET, SECRET[::-1], b64encode(SECRET)[:-4], SECRET.hex().encode()):
            assert not any(text[start : start + 8] in shown for start in range(len(text) - 8))

    def test_same_secret_is_encrypted_differently_each_time(self, cipher: SecretCipher) -> None:
        """Ciphertexts do not show which connections have the same secret."""
        assert len({cipher.encrypt(SECRET, OWNER) for _ in range(20)}) == 20

    def test_ciphertext_of_another_owner_is_refused(self, cipher: SecretCipher) -> None:
        """A ciphertext that was moved to another connection is not decrypted."""
        _assert_refused(cipher, cipher.encrypt(SECRET, OWNER), b"another workspace")

    def test_changed_or_cut_ciphertext_is_refused(self, cipher: SecretCipher) -> None:
        """A ciphertext with one bit changed, cut, lengthened or empty raises `CipherUnavailable`."""
        sealed = cipher.encrypt(SECRET, OWNER)
        for place in range(len(sealed)):
            _assert_refused(cipher, sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :], OWNER)
        for changed in (b"", sealed[:-1], sealed[1:], sealed + b"\0", SECRET):
            _assert_refused(cipher, changed, OWNER)

    def test_key_of_another_deployment_is_refused(
        self, cipher: SecretCipher, other_cipher: SecretCipher
    ) -> None:
        """A ciphertext of another key raises `CipherUnavailable`, whose reason has no secret."""
        _assert_refused(other_cipher, cipher.encrypt(SECRET, OWNER), OWNER)


def _assert_refused(cipher: SecretCipher, ciphertext: bytes, owner: bytes) -> None:
    with pytest.raises(CipherUnavailable) as refused:
        cipher.decrypt(ciphertext, owner)
    assert refused.value.reason
    assert "hush" not in refused.value.reason
