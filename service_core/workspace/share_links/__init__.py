"""Share links: public, read-only pages of one report, dashboard or analysis."""
