"""The libraries' chatter, turned down to what a user can act on."""

from __future__ import annotations

import logging
import os
import warnings

from clusterns.console import is_verbose


def quiet_libraries() -> None:
    """Keep errors, drop reports and progress bars that are not ours, unless the user wants them."""
    if is_verbose():
        logging.basicConfig(level=logging.INFO)
        return
    import datasets
    import transformers

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    datasets.logging.set_verbosity_error()
    datasets.disable_progress_bars()
    for name in ("sentence_transformers", "accelerate", "huggingface_hub", "httpx", "filelock"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    warnings.filterwarnings("ignore", message=".*pin_memory.*")
