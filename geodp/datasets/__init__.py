"""Data sets, `geodp datasets`: which are known, making some up, turning published ones into tables. Trusted side."""
