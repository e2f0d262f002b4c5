"""Git hooks next to those of others: install, chain, upgrade, report and take away.

What is installed are the scripts of the top-level `hooks/git/`, a few lines of shell that find out without starting
a program whether there is anything to do. Nothing of baton relies on them alone.

Nothing is imported here: who only wants what ships (`shipped`) pays for no more.
"""
