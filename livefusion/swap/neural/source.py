"""Whose face a swap network shall make: from pictures of a person to the tensor that it takes."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from livefusion.core.alignment import five_points, similarity_onto
from livefusion.core.errors import GraphError, IdentityError, ModelError
from livefusion.core.face import Identity, Portrait
from livefusion.core.words import either
from livefusion.inference.catalog import ModelFile
from livefusion.inference.session import Session
from livefusion.swap.neural.recipe import (
    HALF,
    IMAGENET_DEVIATION,
    IMAGENET_MEAN,
    Floats,
    Recipe,
    Route,
    Three,
    unit,
)
from livefusion.swap.neural.template import template
from livefusion.swap.portrait import portrait, shrink_and_warp

_log = logging.getLogger(__name__)

Rgb = npt.NDArray[np.uint8]
FindModel = Callable[[str], ModelFile | None]
"""The user's model of a family, None if there is none."""

_Picture = TypeVar("_Picture")

RECOGNISER_SIDE = 112
# By family; others see what ArcFace does. SimSwap's own code shows its recogniser the crop of the network,
# made smaller, and so does that of CSCS.
_TEMPLATES: dict[str, str] = {"simswap_arcface": "arcface_112_v1", "cscs_arcface": "ffhq_512"}
# (mean, deviation) of RGB / 255 by family; others take what ArcFace does, (x − 127.5) / 127.5.
_NORMALISED: dict[str, tuple[Three, Three]] = {"simswap_arcface": (IMAGENET_MEAN, IMAGENET_DEVIATION)}


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """The networks of a route, loaded."""

    family: str
    recogniser: Session
    converter: Session | None
    beside: Session | None = None

    def embed(self, view: Portrait) -> Floats:
        """The embedding (512,) of one picture, as the last network gives it."""
        return self.embed_crop(picture_tensor(view, self.template, RECOGNISER_SIDE, *self.normalised))

    @property
    def template(self) -> str:
        """Where the recogniser expects eyes, nose and mouth."""
        return _TEMPLATES.get(self.family, "arcface_112_v2")

    @property
    def normalised(self) -> tuple[Three, Three]:
        """Mean and deviation of RGB / 255 that it expects."""
        return _NORMALISED.get(self.family, (HALF, HALF))

    def embed_crop(self, image: Floats) -> Floats:
        """The embedding of a crop (1, 3, 112, 112), normalised."""
        embedding = _only_output(self.recogniser, image)
        if self.converter is not None:
            embedding = _only_output(self.converter, embedding[None])
        if self.beside is not None:
            embedding = unit(embedding) + unit(_only_output(self.beside, image))
        return embedding


class SourceReader:
    """Makes what a network takes of an identity. ``find`` gives models of the user by family.

    ``ModelError`` names the files that are missing.
    """

    def __init__(self, recipe: Recipe, model: str, find: FindModel) -> None:
        self._recipe = recipe
        self._chain = _load_chain(recipe.routes, model, find) if recipe.latent else None
        self._lock = threading.Lock()

    @property
    def crop(self) -> tuple[npt.NDArray[np.float64], Three, Three]:
        """How a face is shown to the recogniser: (5, 2) points, mean, deviation; ``GraphError`` for none."""
        chain = self._require_chain()
        return template(chain.template, RECOGNISER_SIDE), *chain.normalised

    def latent_of(self, image: Floats) -> Floats:
        """(1, 512) float32 as ``latent``, of a crop (1, 3, 112, 112) as ``crop`` says."""
        return self._latent([image], self._require_chain().embed_crop)

    def latent(self, identity: Identity) -> Floats:
        """The tensor (1, 512) float32 for a network that takes an embedding; ``GraphError`` for others."""
        return self._latent(views_of(identity), self._require_chain().embed)

    def _latent(self, pictures: Sequence[_Picture], embed: Callable[[_Picture], Floats]) -> Floats:
        assert self._recipe.latent is not None, "networks with a chain take a latent"
        with self._lock:  # a performer may be looked at while an identity is made ready
            embeddings = [embed(picture) for picture in pictures]
        return self._recipe.latent(mean_embedding(embeddings))[None]

    def _require_chain(self) -> _Chain:
        if self._chain is None:
            raise GraphError(f"a {self._recipe.family} takes no embedding")
        return self._chain

    def picture(self, identity: Identity, side: int) -> Floats:
        """The first picture of an identity as a network takes it that wants to see it."""
        recipe = self._recipe
        return picture_tensor(
            views_of(identity)[0], recipe.picture, side, recipe.picture_mean, recipe.picture_deviation
        )


def views_of(identity: Identity) -> list[Portrait]:
    """The pictures by which a network is told whose face it is; ``IdentityError`` for a painted face."""
    if identity.painted:
        raise IdentityError(
            f"{identity.label} is a painted face, which no swap network can wear", "use --engine mesh"
        )
    if identity.portraits:
        return list(identity.portraits)
    rgb, landmarks = portrait(identity)
    return [Portrait(rgb, five_points(landmarks).astype(np.float32))]


def mean_embedding(embeddings: Sequence[Floats]) -> Floats:
    """One embedding for several pictures: their mean direction, at their mean length."""
    length = float(np.mean([np.linalg.norm(embedding) for embedding in embeddings]))
    mean = np.mean([unit(embedding) for embedding in embeddings], axis=0)
    return unit(mean.astype(np.float32)) * np.float32(length)


def picture_tensor(view: Portrait, name: str, side: int, mean: Three, deviation: Three) -> Floats:
    """A face (1, 3, side, side) float32 aligned to a template, (RGB / 255 − mean) / deviation."""
    to_crop = similarity_onto(view.points, template(name, side))
    crop = shrink_and_warp(view.rgb, to_crop, side)
    values = (crop.astype(np.float32) / 255 - np.array(mean, np.float32)) / np.array(deviation, np.float32)
    return np.ascontiguousarray(values.transpose(2, 0, 1)[None], np.float32)


def find_route(routes: Sequence[Route], model: str, find: FindModel) -> tuple[Route, list[ModelFile]]:
    """The first route whose networks are all here, and their files; ``ModelError`` names what is missing."""
    wanted = []
    for route in routes:
        found = [find(name) for name in route.names]
        files = [one for one in found if one is not None]
        if len(files) == len(found):
            return route, files
        missing = (name for name, one in zip(route.names, found, strict=True) if one is None)
        wanted.append(" with ".join(missing))
    raise ModelError(
        f"{model} is told whose face to make by a network of the kind {either(wanted)}, and there is none",
        "add one with `livefusion models add FILE --family KIND`; `livefusion models list` knows where",
    )


def _load_chain(routes: Sequence[Route], model: str, find: FindModel) -> _Chain:
    route, files = find_route(routes, model, find)
    _log.debug("%s is told whose face it makes by %s", model, " and ".join(one.name for one in files))
    loaded = {name: Session(one.entry) for name, one in zip(route.names, files, strict=True)}
    return _Chain(
        route.recogniser,
        loaded[route.recogniser],
        loaded.get(route.converter),
        loaded.get(route.beside),
    )


def _only_output(session: Session, values: Floats) -> Floats:
    """The first output of a network of one input, flat, as a new array."""
    spec = session.entry.inputs[0]
    outputs = session.run({spec.name: np.ascontiguousarray(values, spec.dtype)})
    first = next(iter(outputs.values()))
    return np.array(first, np.float32).reshape(-1)
