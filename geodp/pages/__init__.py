"""Parts that all pages share: labels with units, numbers as people read them, escaped HTML that asks for nothing."""
