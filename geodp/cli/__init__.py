"""Commands: one file each; parse, call the library, print. Everything heavy is imported inside a command."""
