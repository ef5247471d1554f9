"""Passkeys of accounts: registration in the settings, and sign-in without a password."""
