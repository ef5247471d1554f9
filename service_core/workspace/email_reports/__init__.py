"""E-mails of a report or dashboard, sent every week or month."""
