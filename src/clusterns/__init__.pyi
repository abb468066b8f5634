"""The public names and the modules that define them, for type checkers and ``__init__.py``."""

from clusterns.commands.adapt import adapt as adapt
from clusterns.commands.compare import compare as compare
from clusterns.commands.encode import encode as encode
from clusterns.commands.evaluate import evaluate as evaluate
from clusterns.commands.explore import explore as explore
from clusterns.commands.inspect import inspect as inspect
from clusterns.commands.lab import lab_list as lab_list
from clusterns.commands.lab import lab_run as lab_run
from clusterns.commands.lab import lab_search as lab_search
from clusterns.commands.lab_results import lab_figures as lab_figures
from clusterns.commands.lab_results import lab_record as lab_record
from clusterns.commands.lab_results import lab_report as lab_report
from clusterns.commands.lab_results import lab_restore as lab_restore
from clusterns.commands.lab_results import lab_table as lab_table
from clusterns.commands.lance import lance as lance
from clusterns.commands.push import push as push
from clusterns.commands.recipes import recipes as recipes
from clusterns.commands.report import report as report
from clusterns.commands.search import search as search
from clusterns.commands.similar import similar as similar
from clusterns.commands.topics import topics as topics
from clusterns.commands.train import train as train
from clusterns.encoder.load import load_base as load_base
from clusterns.losses.clusterns import ClusterNSLoss as ClusterNSLoss
from clusterns.losses.contrastive import ContrastiveLoss as ContrastiveLoss
from clusterns.training.trainer import ContrastiveTrainer as ContrastiveTrainer
