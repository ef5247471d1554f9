"""Passkeys of people: made on the settings page, used to sign in without a password."""
