"""The document of an evaluation, schema ``livefusion.eval/1``."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import livefusion
from livefusion.evaluation.clip import ClipResult
from livefusion.evaluation.figure import Figure
from livefusion.evaluation.second_judge import ABOUT
from livefusion.faces.embed import SAME_PERSON
from livefusion.media.sources.uri import redact

SCHEMA = "livefusion.eval/1"

# Key of the summary: group, figure, and whether the least is the worst clip.
SUMMARY: Mapping[str, tuple[str, str, bool]] = {
    "cos_source": ("identity", "cos_source", True),
    "cos_performer": ("identity", "cos_performer", False),
    "second_distance_source": ("second_judge", "distance_source", False),
    "second_distance_performer": ("second_judge", "distance_performer", True),
    "expression_error": ("expression", "error", False),
    "expression_variation": ("expression", "variation", False),
    "eyes_error": ("expression", "eyes", False),
    "mouth_error": ("expression", "mouth", False),
    "gaze_error": ("expression", "gaze", False),
    "blink_agreement": ("expression", "blink_agreement", True),
    "flicker_ratio": ("stability", "flicker_ratio", False),
    "flicker_low_ratio": ("stability", "flicker_low_ratio", False),
    "jitter": ("still", "jitter", False),
    "border_delta_e": ("border", "delta_e", False),
    "light_error": ("light", "luma_error", False),
    "light_following": ("light", "following", True),
    "light_shading": ("light", "shading", True),
    "sharpness_ratio": ("texture", "sharpness_ratio", True),
    "grain_ratio": ("texture", "grain_ratio", True),
    "occluder_iou": ("occluders", "iou", True),
    "changed_outside": ("untouched", "changed_outside", False),
}


def clip_document(result: ClipResult, files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """One clip as plain JSON values; ``files`` are what lies beside the document."""
    summary = {key: _figure(result, group, name) for key, (group, name, _) in SUMMARY.items()}
    return {
        "input": redact(result.settings.input),
        "source": result.settings.source or result.identity.id,
        "identity": result.identity.label,
        "size": result.size,
        "frames": result.frames,
        "faces": {"measured": result.faces, "not_swapped": result.unswapped},
        "settings": result.settings.model_dump(mode="json", include={"device", "engine", "faces", "swap"}),
        **{
            group: {name: figure.as_json() for name, figure in figures.items()}
            for group, figures in result.groups.items()
        },
        "summary": {key: None if one.mean is None else round(one.mean, 6) for key, one in summary.items()},
        "reasons": {key: one.reason for key, one in summary.items() if one.mean is None},
        "files": dict(files or {}),
    }


def document(clips: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All clips, the mean over those that have a figure, each clip counting the same, and the worst."""
    return {
        "schema": SCHEMA,
        "version": livefusion.__version__,
        "judges": {
            "first": {"network": "SFace (OpenCV Zoo)", "licence": "Apache-2.0", "threshold": SAME_PERSON},
            "second": ABOUT,
        },
        "clips": list(clips),
        "summary": {key: _mean(key, clips) for key in SUMMARY},
        "worst": {key: _worst(key, least, clips) for key, (_, _, least) in SUMMARY.items()},
        "reasons": {key: _reasons(key, clips) for key in SUMMARY if _mean(key, clips) is None},
    }


def _figure(result: ClipResult, group: str, name: str) -> Figure:
    return result.groups.get(group, {}).get(name, Figure.none("not measured"))


def _values(key: str, clips: Iterable[Mapping[str, Any]]) -> list[tuple[float, str]]:
    found = ((clip["summary"][key], f"{clip['input']} as {clip['source']}") for clip in clips)
    return [(value, name) for value, name in found if value is not None]


def _mean(key: str, clips: Sequence[Mapping[str, Any]]) -> float | None:
    values = [value for value, _ in _values(key, clips)]
    return round(fmean(values), 6) if values else None


def _worst(key: str, least: bool, clips: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    values = _values(key, clips)
    if not values:
        return None
    value, name = min(values) if least else max(values)
    return {"value": value, "clip": name}


def _reasons(key: str, clips: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(dict.fromkeys(clip["reasons"].get(key, "") for clip in clips)) or "there is no clip"
