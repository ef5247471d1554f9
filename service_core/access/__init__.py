"""Who may do what: workspaces, credentials, scopes, look-up cache and budgets."""
