"""Names are verbs with an object or nouns; a bare participle, pronoun or metaphor says nothing to a reader."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import SOURCES, module_name, parse_source

_WORDS = """
all any asked begun bought broken brought built called caught chosen done drawn each everything fallen
found given gone got grown heard held here hidden how it joined kept known left lost made meant mine named
needed nothing one ones other others ours reach said seen sent several shown sold something
sought spent stood such taken that theirs them then there these they this those thought thus told
understood wanted what when where which who whose why won worn worth written yours
caution children companions deed door guard house kin lean letters patience room round shelf sheet spelling
stage stance standing turn units usual walk wing
"""
BARE_WORDS = frozenset(_WORDS.split())

ALLOWED = {
    "hosts/web/forms.py:FormFields.all": "every value of a form field, next to `text` and `integer`; as `getall` elsewhere",
    "service_core/analytics/postbacks/ports.py:SENT": "the postback status of the wire contract",
    "service_core/kernel/errors.py:Gone": "the HTTP status 410 Gone",
}
"""Names that stay, each with its reason; the list only shrinks."""


def declared_names(path: Path) -> Iterator[str]:
    """Yields the module, and the classes, functions, methods and module-level constants in it, by qualified name."""
    yield path.stem
    yield from _names_in(parse_source(path), "")
    for node in parse_source(path).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _names_in(tree: ast.AST, prefix: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{node.name}"
            yield from _names_in(node, f"{prefix}{node.name}.")
        else:
            yield from _names_in(node, prefix)


def test_no_name_is_a_bare_participle_pronoun_or_metaphor():
    bare = {
        f"{module_name(path)}:{name}"
        for path in SOURCES
        for name in declared_names(path)
        if name.rpartition(".")[2].strip("_").lower() in BARE_WORDS
    }
    assert sorted({name for name in bare if not name.endswith("__all__")} ^ ALLOWED.keys()) == []
