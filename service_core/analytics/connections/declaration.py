"""What a plugin declares of the connection to its provider: what it is called, and what connects it."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class CredentialField:
    """A value that connects a provider, such as a token.

    Attributes:
        name: its name among the credentials, such as ``access_token``.
        label: what the provider's own pages call it.
        help: where a person finds it, a sentence.
        required: whether nothing works without it; of a provider without required ones, at least one is needed.
        secret: whether whoever knows it can use it, so that a form hides what is typed.
    """

    name: str
    label: str
    help: str = ""
    required: bool = True
    secret: bool = True


@dataclass(frozen=True, slots=True)
class ConnectionDeclaration:
    """How a provider is connected.

    Attributes:
        label: name of the provider on pages.
        homepage: address of the provider's page where credentials are made.
        credentials: the values that connect it, in the order of the form.
    """

    label: str
    homepage: str = ""
    credentials: tuple[CredentialField, ...] = ()

    @property
    def credential_names(self) -> tuple[str, ...]:
        """Names of the values that connect the provider."""
        return tuple(field.name for field in self.credentials)

    def describe_first_undeclared_credential(self, names: Iterable[str]) -> str | None:
        """Returns what is wrong with the first name that is not declared; None if all of them are."""
        for name in names:
            if name not in self.credential_names:
                near = get_close_matches(name, self.credential_names, n=1)
                suggestion = f" Did you mean {near[0]}?" if near else ""
                known = ", ".join(self.credential_names) or "none"
                return f"{self.label} has no credential {name}.{suggestion} Credentials: {known}."
        return None

    def missing_credential_names(self, names: Iterable[str]) -> tuple[str, ...]:
        """Returns the names that are missing: the required ones, or all where none is required and none is given."""
        given = frozenset(names)
        if not any(field.required for field in self.credentials):
            return () if given & frozenset(self.credential_names) else self.credential_names
        return tuple(field.name for field in self.credentials if field.required and field.name not in given)
