"""Errors that users can fix, interruptions, and out-of-memory errors."""


class UserError(Exception):
    """An error that the user can fix: one sentence that names the problem and the remedy.

    The command line prints it on stderr and exits with code 2. Tracebacks are for bugs.
    """


class Interrupted(Exception):  # noqa: N818 - not an error
    """The user stopped the run. It is saved and can be resumed."""


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether PyTorch ran out of memory. On a CPU only the message tells."""
    return type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
