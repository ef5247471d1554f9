"""Sending of notifications: scheduled e-mails and their delivery."""
