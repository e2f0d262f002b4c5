"""Output for a terminal: tables, styles, widths, and the pager."""
