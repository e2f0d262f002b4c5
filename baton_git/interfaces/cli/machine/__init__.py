"""Commands for the installation on this machine (hooks, agents, workflows, servers), and imports and exports."""
