"""Revenue by provider."""
