"""The rules of the state: records, codecs, merging, lifecycle, the brief. Pure: no I/O, and time is an argument."""
