"""The plugin system: hook specifications, adapters and the frozen registry."""
