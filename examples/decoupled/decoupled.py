"""Decoupled contrastive learning: the positive leaves the denominator of InfoNCE."""

from clusterns.methods.method import Method
from clusterns.methods.recipe import PartSettings
from clusterns.methods.registry import method, part


@part("decoupling")
class DecouplingSettings(PartSettings):
    """The positive pair stays out of the denominator."""

    def make_part(self, context):
        import torch

        from clusterns.losses.part import Part, Terms

        class Decoupling(Part):
            def terms(self, batch, training):
                def terms_of(rows):
                    own = torch.zeros_like(rows.similarities, dtype=torch.bool)
                    return Terms(mask=own.scatter(1, rows.index[:, None], True))

                return terms_of

        return Decoupling()


@method
class Decoupled(Method):
    """InfoNCE without the positive in its denominator, which learns from small batches."""

    name, title, paper = "decoupled", "Decoupled contrastive learning", "Yeh et al., ECCV 2022"
    parts = ("decoupling",)
