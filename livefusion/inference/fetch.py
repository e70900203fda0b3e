"""Known models from the web into the user's folder."""

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from livefusion.core.errors import ModelError, SettingsError
from livefusion.inference.catalog import ModelFile, UserModels, inspect, name_of, require_space
from livefusion.inference.download import Download, Downloader, Progress
from livefusion.inference.vet import LARGEST

_SHA256 = re.compile(r"[0-9a-f]{64}")


def of_address(address: str, sha256: str) -> Download:
    """What lies at an address of the user's; ``SettingsError`` unless its sha256 is told too."""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError(f"{parts.scheme or address}: is not fetched from", "it is http:// or https://")
    if not _SHA256.fullmatch(sha256.lower()):
        raise SettingsError(
            "a file from an address is fetched only with its sha256", "add --sha256, as its page tells it"
        )
    file = PurePosixPath(unquote(parts.path)).name
    return Download(name_of(PurePosixPath(file)), file, sha256.lower(), (address,))


def fetch(
    wanted: Download, store: UserModels, tell: Callable[[Progress], None], *, family: str = ""
) -> ModelFile:
    """Have a file in the store, as one that was added; it goes on where an earlier try was cut off.

    ``ModelError`` if no mirror has it, its content is another, it must not be loaded, or the disk is full.
    """
    store.make_root()
    # By its hash: what came of another file of this name is not gone on with.
    part = store.root / f".{wanted.name}.{wanted.sha256[:12]}.part"
    downloader = Downloader(tell, lambda size: require_space(store.root, size), LARGEST)
    downloader.fetch(wanted, part)
    try:
        model = inspect(part, family=family, name=wanted.name, sha256=wanted.sha256)
    except (ModelError, SettingsError):
        part.unlink(missing_ok=True)
        raise
    return store.take(part, PurePosixPath(wanted.file).suffix.lower() or ".onnx", model)
