"""Ways that people took: one columnar table, its files, generated trips, and how like two sets of them are."""
