"""What the agents' command lines tell a hook, and what they take for an answer.

Only the standard library is imported here: most hooks have nothing to do, and cost no more than finding that out.
"""
