"""Errors that users can fix, interruptions, and the messages of other errors."""


class UserError(Exception):
    """An error that the user can fix: one sentence that names the problem and the remedy.

    The command line prints it on stderr and exits with code 2. Tracebacks are for bugs.
    """


class Interrupted(Exception):  # noqa: N818 - not an error
    """The user stopped the run. It is saved and can be resumed."""


def one_line(error: BaseException) -> str:
    """The message of an error on one line of at most 300 characters; its type if it has no message."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:300] + " ..."


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether PyTorch ran out of memory. On a CPU, only the message shows it."""
    return type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
