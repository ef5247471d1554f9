"""Custom link domains: claimed by a workspace, and verified by a DNS record."""
