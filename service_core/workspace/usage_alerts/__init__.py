"""E-mails to owners about the events used of their plan; events above the limit are accepted."""
