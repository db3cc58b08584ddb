"""The documentation: pages, tutorials, and what builds a site of them (`python -m docs`)."""
