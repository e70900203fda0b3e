"""Neural networks: which ones there are, how they are run, and where they really run."""

from livefusion.inference.binding import Binding
from livefusion.inference.placement import Placement
from livefusion.inference.registry import ModelCheck, ModelEntry, ModelRegistry, TensorSpec
from livefusion.inference.session import Session

__all__ = ["Binding", "ModelCheck", "ModelEntry", "ModelRegistry", "Placement", "Session", "TensorSpec"]
