"""KAIROS: a protocol run that another client can resume."""
