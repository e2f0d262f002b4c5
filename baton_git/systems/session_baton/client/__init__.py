"""The client of session-baton's HTTP API: `/v1/baton/read` and `/v1/baton/write` of a remote server.

The original server has no revisions. A server with revisions, such as baton's own and the one in the project
memory-hall, answers 409 to a write that is based on an older revision. Requests are sent one at a time, and each has a
time limit. Redirects are not followed, so the token is sent to no other host.
"""

from baton_git.systems.session_baton.client.address import ServerAddress
from baton_git.systems.session_baton.client.server import BatonServer, ServerAnswer, StaleWrite

__all__ = ["BatonServer", "ServerAddress", "ServerAnswer", "StaleWrite"]
