"""There are enough wrong plugins, of every kit whose example can be changed in one thing."""

from importlib import import_module
from pathlib import Path

from tests.plugin_kits.wrong_plugin import MIN_WRONG_PLUGINS, WRONG_PLUGINS

KITS = {
    "AdPlatformConformance",
    "AttributionModelConformance",
    "CommandGroupConformance",
    "ConversionSenderConformance",
    "Durability",
    "EmailSenderConformance",
    "EventReactionConformance",
    "ExportStorageConformance",
    "GeoLocatorConformance",
    "ImportSourceConformance",
    "IngestProtocolConformance",
    "IngestQueueConformance",
    "JobQueueConformance",
    "LakeStorageConformance",
    "PageConformance",
    "PluginConformance",
    "RateLimiterConformance",
    "RateSourceConformance",
    "RedirectCacheConformance",
    "RevenueProviderConformance",
    "ScheduledJobConformance",
    "SecretCipherConformance",
    "TransformConformance",
    "TxtRecordsConformance",
    "WebhookSourceConformance",
}


def test_every_kit_has_wrong_plugins():
    for file in Path(__file__).parent.glob("test_wrong_*.py"):
        import_module(f"tests.plugin_kits.{file.stem}")
    kits = {base.__name__ for wrong in WRONG_PLUGINS for base in wrong.__mro__}
    assert kits >= KITS
    assert len(WRONG_PLUGINS) >= MIN_WRONG_PLUGINS
