"""The HTTP server: the APIs of session-baton and PAIF, baton-git's own API and the web page."""
