"""The rules of the state: records, codecs, merging, lifecycle, the brief. No I/O; the current time is an argument."""
