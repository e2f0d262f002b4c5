"""Commands about this machine: settings, hooks, servers, files of other systems."""
