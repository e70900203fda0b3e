"""The token that guards the door, and where it is kept."""

import logging
import secrets
from pathlib import Path

from livefusion.core.errors import IdentityError, SettingsError
from livefusion.core.home import user_home
from livefusion.provenance.private_files import is_private, write_private, write_private_once

_log = logging.getLogger(__name__)

SHORTEST = 16
"""Characters of a token that the network may try to guess; 96 bits in ours."""
_BYTES = 12
_LONGEST_FILE = 256


def token_file() -> Path:
    """Where the token is kept that was made here."""
    return user_home() / "door-token"


def token_of(chosen: str, *, reachable: bool) -> str:
    """The token that is asked for, else the one kept in an owner-only file, which is made if need be.

    So OBS and bookmarks go on after a restart; to get another one, delete the file. ``SettingsError`` if a
    chosen token is too short for a door that others can reach, or is none that a header can carry.
    """
    if not chosen:
        return _kept(token_file())
    if not (chosen.isascii() and chosen.isprintable() and " " not in chosen):
        raise SettingsError(
            "the token has other characters than a header can carry", "use letters and digits"
        )
    if reachable and len(chosen) < SHORTEST:
        raise SettingsError(
            f"the token is too short for a door that the network can reach ({len(chosen)} characters)",
            f"use at least {SHORTEST}, or leave --token out: then one is made",
        )
    return chosen


def _kept(file: Path) -> str:
    try:
        kept = _read(file)
        if kept is None and file.exists():
            _log.warning("%s could be read by others, or is no token: there is a new one", file)
            write_private(file, _new().encode())
        elif kept is None:
            write_private_once(file, _new().encode())
        return kept or _read(file) or _new()
    except (OSError, IdentityError) as error:
        _log.warning("the token cannot be kept (%s): the next start has another", error)
        return _new()


def _read(file: Path) -> str | None:
    """The token in a file; None if there is none, or others could read it."""
    if not file.is_file() or not is_private(file):
        return None
    with file.open("rb") as opened:
        text = opened.read(_LONGEST_FILE).decode("ascii", "replace").strip()
    return text if len(text) >= SHORTEST and text.isascii() and text.isprintable() else None


def _new() -> str:
    return secrets.token_urlsafe(_BYTES)
