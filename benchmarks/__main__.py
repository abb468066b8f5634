"""Run every benchmark; each writes its table beside itself."""

from benchmarks import evaluation

evaluation.main()
