"""Hook events of the agent CLIs, and the replies to them.

Only the standard library is imported here: most hooks have nothing to do, and must find that out quickly.
"""
