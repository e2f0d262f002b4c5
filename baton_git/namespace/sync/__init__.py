"""A namespace on two machines as one: fetch, look at what came, merge, push; what is to be done is data before it runs.

Nothing is ever forced. What a remote had when we last agreed with it is kept as a private ref, so that a branch which
was rewritten or deleted there is noticed, whatever else fetched meanwhile.
"""
