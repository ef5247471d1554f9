"""How the house is extended: adapters, the hooks that bring them, and the registry of what is installed.

Hooks return values and never change an application. In-tree plugins and third parties are entry
points of one group, ``touchpoint``; the core itself is the plugin `service_core.builtin`.
"""
