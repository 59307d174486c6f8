"""Pictures of fitted models. Like the displays of scikit-learn, each keeps the arrays it draws."""

from latentclass.plots._boundary import BoundaryDisplay
from latentclass.plots._components import ComponentsDisplay
from latentclass.plots._disclosure import DisclosureDisplay
from latentclass.plots._evidence import EvidenceDisplay
from latentclass.plots._hierarchy import HierarchyDisplay
from latentclass.plots._images import ImagesDisplay
from latentclass.plots._importance import ImportanceDisplay
from latentclass.plots._latent_space import LatentSpaceDisplay
from latentclass.plots._latent_tree import LatentTreeDisplay
from latentclass.plots._loadings import LoadingsDisplay
from latentclass.plots._model_graph import ModelGraphDisplay
from latentclass.plots._restarts import RestartsDisplay
from latentclass.plots._search_path import SearchPathDisplay

__all__ = [
    "BoundaryDisplay",
    "ComponentsDisplay",
    "DisclosureDisplay",
    "EvidenceDisplay",
    "HierarchyDisplay",
    "ImagesDisplay",
    "ImportanceDisplay",
    "LatentSpaceDisplay",
    "LatentTreeDisplay",
    "LoadingsDisplay",
    "ModelGraphDisplay",
    "RestartsDisplay",
    "SearchPathDisplay",
]
