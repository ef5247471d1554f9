"""Composes a deployment: settings, plugins, registry, ports, components, bound operations."""
