"""Pings to footfall and flows: zones, stays, trips, bounded contributions, noise, and what is consistent. Trusted."""
