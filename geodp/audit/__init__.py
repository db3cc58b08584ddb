"""Auditing whole commands: neighbouring files go through `geodp publish`, and nothing but paid answers may differ."""
