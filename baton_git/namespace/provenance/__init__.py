"""Provenance: where the commits and records of a namespace come from, and who vouches for them.

- `ledger`: the origin of each commit, as recorded on this machine.
- `fold`: walks the history and computes the marks of each record, that is, the commits that its values come from. Each
  facet of a record (its text, its check, its closing) has a mark of its own.
- `labels`: derives from a mark who vouches for a facet, given whom the user trusts.
- `judgement`: decides by the labels which records, rules and supersessions count on this machine.
- `claims`: finds the changes that a server refuses because nobody vouches for them.

Only records of some kinds have marks and labels; these kinds are listed in `core.kinds.LABELLED`.
"""
