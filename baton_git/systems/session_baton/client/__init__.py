"""session-baton's wire, from the client's side: `/v1/baton/read` and `/v1/baton/write` of a server elsewhere.

The server may be the original, which knows no revisions, or one that counts them (ours, memory-hall) and refuses
with 409 what was written against an older one. One request at a time, each whole within one time limit; no
redirect is followed, so the token goes to no other host.
"""

from baton_git.systems.session_baton.client.address import ServerAddress
from baton_git.systems.session_baton.client.server import BatonServer, ServerAnswer, StaleWrite

__all__ = ["BatonServer", "ServerAddress", "ServerAnswer", "StaleWrite"]
