"""An event on its way in: field rules, enrichment, the ledger that balances."""
