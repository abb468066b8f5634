"""The error a user can cause, the stop a user can ask for, and out-of-memory errors."""


class UserError(Exception):
    """Something the user can mend: one clear sentence that names what is wrong and the remedy.

    The command line prints it on stderr and exits with code 2; a traceback is for bugs.
    """


class Interrupted(Exception):  # noqa: N818 - not an error
    """The user asked the run to stop; it was saved."""


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether PyTorch ran out of memory; on a CPU it has no type of error for that."""
    return type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
