"""Questions in plain English and the objects that answer them, written by hand.

The answers live in packages that this project depends on, so they are installed wherever it is. The
wording mostly keeps away from the names: a search that only matches words does not find them.
"""

from __future__ import annotations

QUERIES: dict[str, tuple[str, ...]] = {
    "sort an array along an axis": ("numpy.sort", "numpy.ndarray.sort", "torch.sort"),
    "position of the largest value": ("numpy.argmax", "torch.argmax", "numpy.nanargmax"),
    "indices that would put the elements in order": ("numpy.argsort", "torch.argsort"),
    "stick two arrays together end to end": ("numpy.concatenate", "torch.cat", "numpy.append"),
    "remove axes of length one": ("numpy.squeeze", "torch.squeeze"),
    "evenly spaced numbers over an interval": ("numpy.linspace", "torch.linspace", "numpy.arange"),
    "running total of the elements": ("numpy.cumsum", "torch.cumsum", "numpy.cumulative_sum"),
    "flip an array upside down": ("numpy.flipud", "numpy.flip", "torch.flipud", "torch.flip"),
    "find the distinct elements of an array": ("numpy.unique", "torch.unique", "pandas.unique"),
    "swap rows and columns": ("numpy.transpose", "torch.transpose", "torch.t", "numpy.matrix_transpose"),
    "bin the values and count how many fall in each": (
        "numpy.histogram", "torch.histc", "torch.histogram", "numpy.bincount", "torch.bincount",
    ),
    "replace missing numbers with zero": ("numpy.nan_to_num", "torch.nan_to_num"),
    "multiply two matrices": ("numpy.matmul", "torch.matmul", "torch.mm", "numpy.dot", "torch.bmm"),
    "inverse of a square matrix": ("numpy.linalg.inv", "scipy.linalg.inv", "torch.linalg.inv"),
    "decompose a matrix into singular values": (
        "numpy.linalg.svd", "scipy.linalg.svd", "torch.linalg.svd", "torch.svd",
    ),
    "solve a system of linear equations": (
        "numpy.linalg.solve", "scipy.linalg.solve", "torch.linalg.solve", "sympy.linsolve",
        "sympy.solve_linear_system",
    ),
    "fit a polynomial through points by least squares": (
        "numpy.polyfit", "numpy.polynomial.polynomial.polyfit",
    ),
    "straight line between known points to estimate values in between": (
        "numpy.interp", "scipy.interpolate.interp1d", "torch.lerp",
    ),
    "read a table from a comma separated file": ("pandas.read_csv", "numpy.genfromtxt", "numpy.loadtxt"),
    "write a table to an excel sheet": (
        "pandas.DataFrame.to_excel", "pandas.ExcelWriter", "pandas.core.generic.NDFrame.to_excel",
    ),
    "join two tables on a common column": (
        "pandas.merge", "pandas.DataFrame.merge", "pandas.DataFrame.join",
    ),
    "drop rows that appear more than once": (
        "pandas.DataFrame.drop_duplicates", "pandas.Series.drop_duplicates",
        "pandas.Index.drop_duplicates",
    ),
    "convert text to dates": ("pandas.to_datetime",),
    "turn categories into zero and one columns": (
        "pandas.get_dummies", "sklearn.preprocessing.OneHotEncoder",
        "sklearn.preprocessing.LabelBinarizer",
    ),
    "moving window over a series": (
        "pandas.DataFrame.rolling", "pandas.core.generic.NDFrame.rolling",
        "numpy.lib.stride_tricks.sliding_window_view",
    ),
    "split data into training and testing parts": (
        "sklearn.model_selection.train_test_split", "datasets.Dataset.train_test_split",
    ),
    "group points around centres": (
        "sklearn.cluster.KMeans", "sklearn.cluster.k_means", "scipy.cluster.vq.kmeans",
        "sklearn.cluster.MiniBatchKMeans", "scipy.cluster.vq.kmeans2",
    ),
    "find groups of any shape by density, with outliers": (
        "sklearn.cluster.DBSCAN", "sklearn.cluster.dbscan", "sklearn.cluster.HDBSCAN",
        "sklearn.cluster.OPTICS",
    ),
    "reduce the number of dimensions keeping most variance": (
        "sklearn.decomposition.PCA", "sklearn.decomposition.TruncatedSVD",
        "sklearn.decomposition.IncrementalPCA",
    ),
    "many decision trees that vote": (
        "sklearn.ensemble.RandomForestClassifier", "sklearn.ensemble.RandomForestRegressor",
        "sklearn.ensemble.ExtraTreesClassifier", "sklearn.ensemble.VotingClassifier",
    ),
    "scale features to zero mean and unit variance": (
        "sklearn.preprocessing.StandardScaler", "sklearn.preprocessing.scale",
    ),
    "score a model on several folds": (
        "sklearn.model_selection.cross_val_score", "sklearn.model_selection.cross_validate",
    ),
    "try all combinations of hyperparameters": (
        "sklearn.model_selection.GridSearchCV", "sklearn.model_selection.ParameterGrid",
    ),
    "table of right and wrong predictions for each class": (
        "sklearn.metrics.confusion_matrix", "sklearn.metrics.multilabel_confusion_matrix",
        "sklearn.metrics.classification_report",
    ),
    "area under the receiver operating characteristic curve": (
        "sklearn.metrics.roc_auc_score", "sklearn.metrics.auc",
    ),
    "count how often each word occurs in documents": (
        "sklearn.feature_extraction.text.CountVectorizer",
        "sklearn.feature_extraction.text.TfidfVectorizer",
        "sklearn.feature_extraction.text.HashingVectorizer",
    ),
    "rank correlation between two variables": (
        "scipy.stats.spearmanr", "scipy.stats.kendalltau", "scipy.stats.weightedtau",
        "scipy.stats.mstats.spearmanr",
    ),
    "do two samples have the same mean": (
        "scipy.stats.ttest_ind", "scipy.stats.ttest_rel", "scipy.stats.ttest_ind_from_stats",
        "scipy.stats.mstats.ttest_ind",
    ),
    "find the minimum of a function": (
        "scipy.optimize.minimize", "scipy.optimize.minimize_scalar", "scipy.optimize.fmin",
        "scipy.optimize.fminbound", "scipy.optimize.brent",
    ),
    "where does a function cross zero": (
        "scipy.optimize.root_scalar", "scipy.optimize.brentq", "scipy.optimize.newton",
        "scipy.optimize.bisect", "scipy.optimize.fsolve", "scipy.optimize.root",
    ),
    "integrate a function between two limits": (
        "scipy.integrate.quad", "scipy.integrate.fixed_quad", "mpmath.quad", "sympy.integrate",
    ),
    "frequencies contained in a signal": (
        "scipy.fft.fft", "numpy.fft.fft", "torch.fft.fft", "scipy.signal.periodogram",
        "scipy.signal.welch", "numpy.fft.fftfreq", "scipy.signal.spectrogram",
    ),
    "shortest path between two nodes of a network": (
        "networkx.shortest_path", "networkx.dijkstra_path", "scipy.sparse.csgraph.shortest_path",
        "networkx.bidirectional_shortest_path", "scipy.sparse.csgraph.dijkstra",
        "networkx.bellman_ford_path", "networkx.astar_path",
    ),
    "smallest set of edges that connects all nodes": (
        "networkx.minimum_spanning_tree", "networkx.minimum_spanning_edges",
        "scipy.sparse.csgraph.minimum_spanning_tree",
    ),
    "randomly switch off neurons during training": (
        "torch.nn.Dropout", "torch.nn.functional.dropout", "torch.nn.AlphaDropout",
        "torch.nn.Dropout1d", "torch.nn.Dropout2d", "torch.nn.Dropout3d",
    ),
    "look up vectors for word ids": (
        "torch.nn.Embedding", "torch.nn.functional.embedding", "torch.nn.EmbeddingBag",
    ),
    "lower the learning rate every few epochs": (
        "torch.optim.lr_scheduler.StepLR", "torch.optim.lr_scheduler.MultiStepLR",
        "torch.optim.lr_scheduler.ExponentialLR", "torch.optim.lr_scheduler.ReduceLROnPlateau",
    ),
    "prevent exploding gradients": (
        "torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_",
    ),
    "cosine of the angle between two tensors": (
        "torch.nn.CosineSimilarity", "torch.nn.functional.cosine_similarity",
        "sklearn.metrics.pairwise.cosine_similarity", "sentence_transformers.util.cos_sim",
        "sentence_transformers.util.similarity.cos_sim",
    ),
    "make random results repeatable": (
        "torch.manual_seed", "transformers.set_seed", "transformers.trainer_utils.set_seed",
        "accelerate.utils.set_seed", "numpy.random.seed", "accelerate.utils.random.set_seed",
    ),
    "derivative of a symbolic expression": ("sympy.diff", "sympy.Derivative", "sympy.Expr.diff"),
    "greatest common divisor": ("sympy.gcd", "numpy.gcd", "torch.gcd", "sympy.polys.polytools.gcd"),
    "is this number prime": ("sympy.isprime", "sympy.ntheory.primetest.isprime"),
    "download a file from the hub": (
        "huggingface_hub.hf_hub_download", "huggingface_hub.snapshot_download",
        "huggingface_hub.HfApi.hf_hub_download", "huggingface_hub.hf_api.HfApi.hf_hub_download",
    ),
    "load a pretrained tokenizer": (
        "transformers.AutoTokenizer", "transformers.AutoTokenizer.from_pretrained",
        "transformers.PreTrainedTokenizerBase.from_pretrained",
        "transformers.models.auto.tokenization_auto.AutoTokenizer.from_pretrained",
        "transformers.tokenization_utils_base.PreTrainedTokenizerBase.from_pretrained",
    ),
    "shuffle the rows of a dataset": (
        "datasets.Dataset.shuffle", "datasets.IterableDataset.shuffle", "datasets.DatasetDict.shuffle",
    ),
    "draw a progress bar in the terminal": (
        "tqdm.tqdm", "rich.progress.Progress", "rich.progress.track", "typer.progressbar",
        "click.progressbar", "rich.progress.ProgressBar", "rich.progress_bar.ProgressBar",
    ),
    "show rows and columns neatly in the terminal": ("rich.table.Table",),
}  # fmt: skip
