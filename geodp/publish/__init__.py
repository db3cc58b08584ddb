"""Publishing real data, `geodp publish`: read, ask the ledger, draw noise, write. Trusted: it sees the raw data.

`pipeline.py` holds the steps that every kind of publication shares; a kind is one file that prepares a `PublishPlan`.
"""
