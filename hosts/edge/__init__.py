"""The link host: redirects of trackable links."""
