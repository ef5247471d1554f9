"""Script proposals: drafts that owners and admins approve, and the container of approved scripts."""
