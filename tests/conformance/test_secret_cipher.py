"""The ciphers pass their kit, with a key in a file and one in the environment."""

import os
from base64 import b64encode

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.secret_cipher import SecretCipherConformance


class TestKeyFile(SecretCipherConformance):
    @pytest.fixture
    def cipher(self, tmp_path):
        return self.open_cipher("keyfile:///connections.key", tmp_path)

    @pytest.fixture
    def other_cipher(self, tmp_path):
        return self.open_cipher("keyfile:///other.key", tmp_path)

    @staticmethod
    def open_cipher(url, folder):
        return collect_plugins_into_registry().open_adapter("secret_cipher", url, base_folder=folder)


class TestKeyInTheEnvironment(TestKeyFile):
    @pytest.fixture
    def cipher(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SEALING_KEY", b64encode(os.urandom(32)).decode())
        return self.open_cipher("keyenv://SEALING_KEY", tmp_path)
