"""The definitions that answers are computed with."""

from collections.abc import Iterator

from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.formula import describe_formula
from service_core.kernel.ids import sha256_hex


def digest_of_definitions(catalog: Catalog) -> str:
    """Returns a digest of what every metric counts and every dimension splits by; names and descriptions do not matter."""
    return sha256_hex("\n".join(sorted(_describe_definitions(catalog))))


def _describe_definitions(catalog: Catalog) -> Iterator[str]:
    for metric in catalog.metrics.values():
        yield f"{metric.id} {metric.version} {describe_formula(metric, catalog)}"
    for dimension in catalog.dimensions.values():
        columns = sorted(f"{relation}.{column}" for relation, column in dimension.columns.items())
        yield f"{dimension.id} {columns} {dimension.null_label} {sorted(dimension.labels.items())}"
