"""Accounts, memberships and roles, sessions of the web application, and invitations."""
