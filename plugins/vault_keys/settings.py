"""What the URL says: ``keyfile:///connections.key``, ``keymount:////run/secrets/key`` or ``keyenv://SEALING_KEY``."""

import os
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from plugins.vault_keys.making import made
from service_core.plugin import AdapterSettings, VaultShut


class MountSettings(AdapterSettings):
    """A file that somebody else keeps, with one key in each line: the first seals, all of them open."""

    path: Path = Field(description="The file.")

    @property
    def is_needed(self) -> bool:
        """Whether a missing key is a mistake."""
        return True

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
        """The keys.

        Raises:
            VaultShut: as `read`.
        """
        return self.read()


class FileSettings(MountSettings):
    """A file that the deployment makes when it seals its first secret."""

    @property
    def is_needed(self) -> bool:
        """Not before something is sealed."""
        return self.path.exists()

    def read_or_make(self) -> str:
        """The keys; a file that is missing is made with a fresh one.

        Raises:
            VaultShut: the file cannot be read or made.
        """
        if not self.path.exists():
            made(self.path)
        return self.read()


class VariableSettings(AdapterSettings):
    """An environment variable that holds keys, with spaces between them: the first seals, all of them open."""

    @property
    def variable(self) -> str:
        """Its name, in the letters it is written with."""
        return urlsplit(self.url).netloc

    @property
    def is_needed(self) -> bool:
        """Whoever names a variable sets it."""
        return True

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
        """The keys.

        Raises:
            VaultShut: as `read`.
        """
        return self.read()


KeySettings = FileSettings | MountSettings | VariableSettings
