"""Hook events of the agent CLIs, and the replies to them.

Most hooks have nothing to do, and must exit quickly. So modules here import only the standard library and small modules
of baton; psutil is imported when it is needed.
"""
