"""The commands, one file each. In: a validated request. Out: results and files.

Each command is a request (:mod:`clusterns.commands.request`), from which the command line and the
Python function of the same name are made.
"""
