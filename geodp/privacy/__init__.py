"""What privacy means here: noise, guarantees, and the ledger that refuses to overspend."""
