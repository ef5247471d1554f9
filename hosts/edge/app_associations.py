"""The files by which Apple and Google learn which apps open links of a domain."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from service_core.kernel.settings import LinksSettings

APPLE_PATH: Final = "/.well-known/apple-app-site-association"
GOOGLE_PATH: Final = "/.well-known/assetlinks.json"


def build_association_files(settings: LinksSettings) -> Mapping[str, bytes]:
    """Returns path -> file; a file without an app is left out."""
    files: dict[str, Any] = {}
    if settings.ios_apps:
        details = [{"appIDs": list(settings.ios_apps), "components": [{"/": "/*"}]}]
        files[APPLE_PATH] = {"applinks": {"details": details}}
    if settings.android_apps:
        files[GOOGLE_PATH] = _asset_link_statements(settings.android_apps)
    return {path: orjson.dumps(content) for path, content in files.items()}


def _asset_link_statements(apps: tuple[str, ...]) -> list[dict[str, Any]]:
    """Returns one statement for each package, with all of its certificates."""
    certificates: dict[str, list[str]] = {}
    for app in apps:
        package, _, certificate = app.partition("/")
        certificates.setdefault(package, []).append(certificate)
    return [
        {
            "relation": ["delegate_permission/common.handle_all_urls"],
            "target": {
                "namespace": "android_app",
                "package_name": package,
                "sha256_cert_fingerprints": prints,
            },
        }
        for package, prints in certificates.items()
    ]
