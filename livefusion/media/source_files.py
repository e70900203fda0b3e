"""The photos and videos that a face is made of, looked at before anybody is asked whose it is."""

from collections.abc import Iterable
from pathlib import Path

from livefusion.media.paths import require_file
from livefusion.media.photo import SOURCE_SUFFIXES, is_video, list_photos, load_photo


def source_files(path: Path) -> list[Path]:
    """The files that a path means: itself, or what is in a folder. ``InputError`` if that is nothing."""
    return list_photos(path, SOURCE_SUFFIXES) if path.is_dir() else [path]


def check_source_files(paths: Iterable[Path]) -> None:
    """``InputError`` for the first that cannot be read: a photo is decoded, of a video the beginning."""
    for path in paths:
        require_file(path, "photo")
        if is_video(path):
            from livefusion.media.sources.demux import check_video

            check_video(path)
        else:
            load_photo(path)
