"""The trusted side: sees everyone, publishes views that state their guarantee, asks the ledger first."""
