"""Is a photo good enough to be a source? What it scores, what is wrong with it, and what would be better."""

from livefusion.swap.intake.criterion import Advice, Criterion
from livefusion.swap.intake.judge import Intake, judge_photo
from livefusion.swap.intake.pose import turned_by
from livefusion.swap.intake.score import PhotoScore

__all__ = ["Advice", "Criterion", "Intake", "PhotoScore", "judge_photo", "turned_by"]
