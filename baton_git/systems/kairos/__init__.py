"""KAIROS: protocol runs that another client can resume."""
