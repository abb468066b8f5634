"""The commands, one file each: what the user asks for comes in, checked; results and files go out.

Each command is a request (:mod:`clusterns.commands.request`), from which the command line and the
Python function of the same name are made.
"""
