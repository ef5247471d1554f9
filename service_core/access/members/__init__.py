"""People: accounts, their roles in workspaces, sessions of the web application and invitations."""
