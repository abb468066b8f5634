"""The one error a user can cause."""


class UserError(Exception):
    """Something the user can mend: one clear sentence that names what is wrong and the remedy.

    The command line prints it on stderr and exits with code 2; a traceback is for bugs.
    """
