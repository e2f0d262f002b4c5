"""The five seed systems, one folder each: records, codecs, rules, importers and verbs."""
