"""Money from elsewhere: what ads cost, what revenue providers report, and which subscriptions live."""
