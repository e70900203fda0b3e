"""What a source looks like: its photos, or an identity of texture and shape alone, from the front."""

from pathlib import Path

from livefusion.core.face import Identity, Landmarks
from livefusion.evaluation.picture import Rgb
from livefusion.evaluation.sight import Sight
from livefusion.media.paths import leads_somewhere
from livefusion.media.photo import SOURCE_SUFFIXES, SUFFIXES, list_photos, load_photo
from livefusion.swap.portrait import portrait as draw_portrait

_SIDE, _FACE_HEIGHT = 320, 230.0

View = tuple[Rgb, Landmarks]


def source_views(source: str, identity: Identity, sight: Sight) -> list[View]:
    """The faces in the photos that ``source`` leads to; the portrait where there are none."""
    path = Path(source)
    views: list[View] = []
    if source and leads_somewhere(path):
        files = list_photos(path, SOURCE_SUFFIXES) if path.is_dir() else [path]
        for photo in files:
            if photo.suffix.lower() not in SUFFIXES:
                continue
            rgb = load_photo(photo)
            faces = sight.photos.find(rgb)
            if faces and faces[0].landmarks is not None:
                views.append((rgb, faces[0].landmarks))
    return views or [portrait(identity)]


def portrait(identity: Identity) -> View:
    """A (320, 320, 3) picture of an identity from the front, on its own skin's colour, and its landmarks."""
    return draw_portrait(identity, _SIDE, _FACE_HEIGHT)
