"""Build `models/badge_font.ttf`: the five glyphs of the Chinese badge, out of Noto Sans SC from npm.

    python tools/build_badge_font.py             write it
    python tools/build_badge_font.py --check     build and compare; exit 1 if it differs

Needs npm, and `pip install fonttools==4.68.0 brotli==1.2.1`. The archive is checked by sha256.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

_FONT = Path(__file__).resolve().parents[1] / "models" / "badge_font.ttf"
_PACKAGE = "@fontsource/noto-sans-sc@5.3.0"
_SHA256 = "05a7abac78a6cac4bd1361e7b24c680ee820fcc2f22cf5cc92673f4cd12771c5"
_MEMBER = "package/files/noto-sans-sc-chinese-simplified-500-normal.woff2"
_TEXT = "AIM\u6362\u8138"
"""What is written, and the M by which the height of capitals is measured."""
_NAMES = ["0", "1", "2", "13", "14"]
"""Copyright, family, style, licence and its address."""


def build() -> bytes:
    """Fetch the font and leave out all other glyphs."""
    font = TTFont(io.BytesIO(_fetched()), recalcTimestamp=False)
    options = Options(hinting=False, name_IDs=[int(name) for name in _NAMES])
    subsetter = Subsetter(options)
    subsetter.populate(text=_TEXT)
    subsetter.subset(font)
    font.flavor = None
    out = io.BytesIO()
    font.save(out)
    return out.getvalue()


def _fetched() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", _PACKAGE]
        name = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
        archive = (Path(folder) / name).read_bytes()
    if (found := hashlib.sha256(archive).hexdigest()) != _SHA256:
        raise SystemExit(f"{_PACKAGE} has sha256 {found}: it is not the archive that the badge was made from")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        member = tar.extractfile(_MEMBER)
        assert member is not None, _MEMBER
        return member.read()


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    content = build()
    if not check:
        _FONT.write_bytes(content)
        return 0
    same = _FONT.is_file() and _FONT.read_bytes() == content
    print("as built" if same else f"{_FONT} differs: run without --check")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
