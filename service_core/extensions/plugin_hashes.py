"""Hashes of installed plugins, by which operators allow them."""

import hashlib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from service_core.kernel.errors import StartupError

_PREFIX: Final = "sha256:"
_WRITTEN_BY_INSTALLERS: Final = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})
"""Files of the metadata that differ between installations of one package."""

_BYTE_CODE_FOLDER: Final = "__pycache__"


def hash_file(file: Path) -> str:
    """Returns the hash of a one-file plugin."""
    return f"{_PREFIX}{hashlib.sha256(file.read_bytes()).hexdigest()}"


def hash_distribution(distribution: Distribution, module: str) -> str:
    """Returns the hash of the names and contents of all files of a package, as they are on the disk.

    Args:
        distribution: the installed package.
        module: module that its entry point names.

    Raises:
        StartupError: the module would be imported from elsewhere, as of an editable installation, or a file is missing.
    """
    files = dict(_files_of_distribution(distribution))
    spec = find_spec(module.partition(".")[0])
    if spec is None or spec.origin is None or Path(spec.origin).resolve() not in files.values():
        raise StartupError(
            f"{module} is not imported from the files of {distribution.metadata['Name']}. Install it without --editable."
        )
    try:
        return hash_named_files(files.items())
    except OSError as fault:
        raise StartupError(f"{fault.filename} of {distribution.metadata['Name']} cannot be read.") from None


def _files_of_distribution(distribution: Distribution) -> Iterator[tuple[str, Path]]:
    """Yields name and path of each installed file, without what installers write: metadata, and byte code without a hash."""
    for file in distribution.files or ():
        is_metadata = file.parent.name.endswith(".dist-info") and file.name in _WRITTEN_BY_INSTALLERS
        is_compiled = file.parent.name == _BYTE_CODE_FOLDER and file.suffix == ".pyc" and file.hash is None
        if not is_compiled and not is_metadata:
            yield file.as_posix(), Path(str(distribution.locate_file(file))).resolve()


def hash_named_files(files: Iterable[tuple[str, Path]]) -> str:
    """Returns the hash of the names and contents of files, in any order."""
    digest = hashlib.sha256()
    for name, path in sorted(files):
        digest.update(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n".encode())
    return f"{_PREFIX}{digest.hexdigest()}"
