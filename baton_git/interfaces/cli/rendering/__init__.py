"""How commands look in a terminal: tables, styles, widths, and the pager."""
