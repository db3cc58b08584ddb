"""The truth: where people live and are, and which tasks arise. Nothing here may reach the server."""
