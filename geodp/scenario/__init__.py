"""The YAML a user writes, as a frozen and validated `Scenario`: read, checked, costed and told."""
