"""Data frames in, releases out: mechanisms, phones and attacks as functions of a user's own (Geo)DataFrame.

What comes out knows its region, its promise and its CRS, and becomes a GeoDataFrame or a map. Nothing here has a ledger
unless it is given one: `geodp.publish` has.
"""
