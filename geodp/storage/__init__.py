"""Files and folders that appear whole or not at all, with checksums and stamps; names that are safe in them."""
