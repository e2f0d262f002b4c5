"""Hook events of the agent CLIs, and the replies to them.

Modules here import only the standard library, so that hooks with nothing to do, which is most of them, exit quickly.
"""
