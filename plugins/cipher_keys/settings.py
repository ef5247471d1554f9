"""Settings of the URL: ``keyfile:///connections.key``, ``keymount:////run/secrets/key`` or ``keyenv://SEALING_KEY``."""

import os
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from plugins.cipher_keys.key_file import create_key_file_unless_present
from service_core.plugin import AdapterSettings, CipherUnavailable


class MountedKeySettings(AdapterSettings):
    """A file that is provided, with one key per line: the first encrypts, all of them decrypt."""

    path: Path = Field(description="The file.")

    @property
    def must_exist(self) -> bool:
        """Whether a missing key is an error."""
        return True

    def read_keys(self) -> str:
        """Returns the keys, one per line.

        Raises:
            CipherUnavailable: the file is missing, or cannot be read.
        """
        try:
            return self.path.read_text(encoding="ascii")
        except FileNotFoundError:
            raise CipherUnavailable(
                f"The key file {self.path} is missing. Put it back, or connect again what was connected."
            ) from None
        except (OSError, ValueError) as fault:
            raise CipherUnavailable(f"The key file {self.path} cannot be read: {fault}.") from None

    def read_or_create(self) -> str:
        """Returns the keys; nothing is created."""
        return self.read_keys()


class KeyFileSettings(MountedKeySettings):
    """A file that the deployment creates when it encrypts its first secret."""

    @property
    def must_exist(self) -> bool:
        """Whether the file exists: it is created when the first secret is encrypted."""
        return self.path.exists()

    def read_or_create(self) -> str:
        """Returns the keys; a missing file is created with a new one.

        Raises:
            CipherUnavailable: the file cannot be read or made.
        """
        if not self.path.exists():
            create_key_file_unless_present(self.path)
        return self.read_keys()


class KeyVariableSettings(AdapterSettings):
    """An environment variable with keys separated by spaces: the first encrypts, all of them decrypt."""

    @property
    def variable(self) -> str:
        """Its name, with its letter case."""
        return urlsplit(self.url).netloc

    @property
    def must_exist(self) -> bool:
        """Always: a named variable has to be set."""
        return True

    @model_validator(mode="after")
    def _require_variable(self) -> Self:
        if not self.variable:
            raise ValueError("name a variable, as in keyenv://SEALING_KEY")
        return self

    def read_keys(self) -> str:
        """Returns the keys.

        Raises:
            CipherUnavailable: the variable is not set.
        """
        try:
            return os.environ[self.variable]
        except KeyError:
            raise CipherUnavailable(
                f"The environment variable {self.variable} is not set. It holds the key that connections.encryption_key names."
            ) from None

    def read_or_create(self) -> str:
        """Returns the keys; nothing is created."""
        return self.read_keys()


KeySettings = KeyFileSettings | MountedKeySettings | KeyVariableSettings
