"""Where a call of an interface acts, and as whom: options, variables, configuration, home directory and clock."""
