"""What the URL says: ``keyfile:////run/secrets/key?make=false`` or ``keyenv://SEALING_KEY``."""

import os
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from plugins.vault_keys.making import made
from service_core.plugin import AdapterSettings, VaultShut


class KeyFileSettings(AdapterSettings):
    """A file with one key in each line: the first seals, all of them open."""

    path: Path = Field(description="The file.")
    make: bool = Field(True, description="Make the file with a fresh key when the first secret is sealed.")

    def read(self) -> str:
        """The keys, one in each line.

        Raises:
            VaultShut: the file is missing, or cannot be read.
        """
        try:
            return self.path.read_text(encoding="ascii")
        except FileNotFoundError:
            raise VaultShut(
                f"The key file {self.path} is missing. Put it back, or connect again what was connected."
            ) from None
        except (OSError, ValueError) as fault:
            raise VaultShut(f"The key file {self.path} cannot be read: {fault}.") from None

    def read_or_make(self) -> str:
        """The keys; a file that is missing is made, unless the URL says otherwise.

        Raises:
            VaultShut: the file cannot be read or made.
        """
        if self.make and not self.path.exists():
            made(self.path)
        return self.read()

    @property
    def may_come(self) -> bool:
        """Whether a missing key is no mistake."""
        return self.make and not self.path.exists()


class KeyVariableSettings(AdapterSettings):
    """An environment variable that holds keys, with spaces between them: the first seals, all of them open."""

    @property
    def variable(self) -> str:
        """Its name, in the letters it is written with."""
        return urlsplit(self.url).netloc

    @property
    def may_come(self) -> bool:
        """Never: whoever names a variable sets it."""
        return False

    @model_validator(mode="after")
    def _names_a_variable(self) -> Self:
        if not self.variable:
            raise ValueError("name a variable, as in keyenv://SEALING_KEY")
        return self

    def read(self) -> str:
        """The keys.

        Raises:
            VaultShut: the variable is not set.
        """
        try:
            return os.environ[self.variable]
        except KeyError:
            raise VaultShut(
                f"The environment variable {self.variable} is not set. It holds the key that connections.key names."
            ) from None

    def read_or_make(self) -> str:
        """As `read`: nobody makes a variable.

        Raises:
            VaultShut: the variable is not set.
        """
        return self.read()
