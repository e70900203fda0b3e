"""Painted faces as sources: nobody's, unless a photo was passed off as one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import IdentityError
from livefusion.core.face import Identity
from livefusion.faces.photo import PhotoFaces
from livefusion.media.paint import is_marked
from livefusion.media.paths import leads_somewhere
from livefusion.media.photo import load_rgba
from livefusion.pipeline.gate_model import Screen
from livefusion.provenance.consent import consent_from_text
from livefusion.swap.painted import painted_identity
from livefusion.swap.template import is_template


def is_painted(source: str, painted: bool = False) -> bool:
    """Whether ``-s SOURCE`` is a painted face, by its mark or because somebody says so (``painted``)."""
    path = Path(source)
    return leads_somewhere(path) and path.is_file() and (painted or is_marked(path))


def read_painting(path: Path, consent: str, screen: Screen, *, preview: bool = False) -> Identity:
    """The identity of a painting, which needs no consent.

    Anybody can lay a photo out like a painting and put the mark into the file. What the networks take for a
    real face is treated as one: ``IdentityError`` without a consent, of which ``preview`` relieves as it does
    for photos. Masks, make-up, cartoons and the template itself are not taken for one; a portrait that was
    painted true to life is.
    """
    rgba = load_rgba(path)
    if rgba.shape[0] == rgba.shape[1] and is_template(rgba):
        raise IdentityError(
            f"{path} is the template as it is",
            "paint on a layer of your own, hide the template's, export PNG",
        )
    identity = painted_identity(path.stem, rgba)
    screen(path.name, _on_white(rgba))
    if not _shows_somebody(rgba):
        return identity
    if consent:
        record = consent_from_text(consent, [path])
        return replace(identity, consent=record.as_report())
    if preview:
        return replace(identity, consent={})
    raise IdentityError(
        f"{path} shows a face as real as in a photo, and is put on only with the consent of its owner",
        'add --consent "NAME, for PURPOSE", or, if you painted nobody, --consent "myself, painted nobody"',
    )


def _shows_somebody(rgba: npt.NDArray[np.uint8]) -> bool:
    """Whether a face is found, also if most of it was made transparent."""
    finder = PhotoFaces.from_registry()
    return any(finder.find(np.ascontiguousarray(rgb)) for rgb in (_on_white(rgba), rgba[..., :3]))


def _on_white(rgba: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    alpha = rgba[..., 3:].astype(np.float32) / 255
    return np.asarray(rgba[..., :3] * alpha + 255 * (1 - alpha) + 0.5, np.uint8)
