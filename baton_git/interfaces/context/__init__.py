"""Determine where a call acts, and as whom, from options, variables, configuration, home directory and clock."""
