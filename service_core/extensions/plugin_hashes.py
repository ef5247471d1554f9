"""Hashes of installed plugins, by which operators allow them, and imports of no code but the hashed one."""

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import Distribution
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final

from service_core.kernel.errors import StartupError

_PREFIX: Final = "sha256:"
_WRITTEN_BY_INSTALLERS: Final = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})
"""Files of the metadata that differ between installations of one package."""

_BYTE_CODE_FOLDER: Final = "__pycache__"


@dataclass(frozen=True)
class HashedFiles:
    """The files of a plugin.

    Attributes:
        hash: hash of their names and contents.
        digests: resolved path -> hash of the content.
        modules: names of the top-level modules among them.
    """

    hash: str
    digests: Mapping[Path, str]
    modules: frozenset[str]


def hash_file(file: Path) -> HashedFiles:
    """Returns the hash of a one-file plugin."""
    digest = _digest(file.read_bytes())
    return HashedFiles(f"{_PREFIX}{digest}", {file.resolve(): digest}, frozenset())


def hash_distribution(distribution: Distribution, module: str) -> HashedFiles:
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
        digests = {name: _digest(path.read_bytes()) for name, path in files.items()}
    except OSError as fault:
        raise StartupError(f"{fault.filename} of {distribution.metadata['Name']} cannot be read.") from None
    return HashedFiles(
        _hash_digests(digests),
        {files[name]: digest for name, digest in digests.items()},
        frozenset(filter(None, map(_top_level_module, files))),
    )


def hash_named_files(files: Iterable[tuple[str, Path]]) -> str:
    """Returns the hash of the names and contents of files, in any order."""
    return _hash_digests({name: _digest(path.read_bytes()) for name, path in files})


def import_only_hashed(files: HashedFiles) -> None:
    """Lets the modules of a plugin be imported from its hashed files alone, as they were hashed.

    Byte code of ``__pycache__`` is not used: it may be of another source. A file that no hash covers, such as one that
    was put beside those of the package, is not imported.
    """
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.add(files)


class HashedSourceLoader(SourceFileLoader):
    """Compiles a module from its source, never from cached byte code, and refuses a source that changed since it was hashed."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - as in the base class
        """Returns the code of a module.

        Raises:
            ImportError: the source is not the hashed one.
        """
        source = self.get_data(self.path)
        _FINDER.require_hashed_content(Path(self.path), source)
        return self.source_to_code(source, self.path)


class _HashedFinder(MetaPathFinder):
    """Finds the modules of hashed plugins."""

    def __init__(self) -> None:
        self._digests: dict[Path, str] = {}
        self._modules: set[str] = set()

    def add(self, files: HashedFiles) -> None:
        """Takes the modules of a plugin."""
        self._digests.update(files.digests)
        self._modules.update(files.modules)

    def require_hashed_content(self, file: Path, content: bytes) -> None:
        """Checks a file that is about to be run; one of a plugin without a hash may have any content.

        Raises:
            ImportError: the content is another one than the hashed one.
        """
        expected = self._digests.get(file.resolve())
        if expected is not None and expected != _digest(content):
            raise ImportError(f"{file} has changed since its hash was compared with plugins.allowed")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns where a module of a hashed plugin is; None for those of others.

        Raises:
            ImportError: it would come from a file without a hash.
        """
        if fullname.partition(".")[0] not in self._modules:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            return spec
        origin = Path(spec.origin)
        if origin.resolve() not in self._digests:
            raise ImportError(
                f"{origin} is none of the files whose hash plugins.allowed names", name=fullname
            )
        if isinstance(spec.loader, SourceFileLoader):
            spec.loader = HashedSourceLoader(fullname, spec.origin)
            spec.cached = None
        else:
            self.require_hashed_content(origin, origin.read_bytes())
        return spec


_FINDER: Final = _HashedFinder()


def _files_of_distribution(distribution: Distribution) -> Iterator[tuple[str, Path]]:
    """Yields name and path of each installed file, without metadata that installers write, and cached byte code."""
    for file in distribution.files or ():
        is_metadata = file.parent.name.endswith(".dist-info") and file.name in _WRITTEN_BY_INSTALLERS
        is_cached = file.parent.name == _BYTE_CODE_FOLDER and file.suffix == ".pyc"
        if not is_cached and not is_metadata:
            yield file.as_posix(), Path(str(distribution.locate_file(file))).resolve()


def _top_level_module(name: str) -> str | None:
    """Returns the top-level package or module that a file defines; None for other files."""
    first, _, rest = name.partition("/")
    if rest:
        return first if rest.partition(".")[0] == "__init__" else None
    return first.partition(".")[0] if first.endswith((".py", ".so", ".pyd", ".pyc")) else None


def _hash_digests(digests: Mapping[str, str]) -> str:
    lines = (f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    return f"{_PREFIX}{_digest(''.join(lines).encode())}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
