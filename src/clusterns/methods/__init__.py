"""Methods: one short file for each published method."""

from clusterns.methods.clusterns import ClusterNSSettings, clusterns
from clusterns.methods.settings import ClusteringSettings, ContrastiveSettings
from clusterns.methods.simcse import simcse

__all__ = ["ClusterNSSettings", "ClusteringSettings", "ContrastiveSettings", "clusterns", "simcse"]
