"""Was this video made here, and what says so: watermark, signature, notices and metadata in one report."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from livefusion.core.errors import IdentityError, InputError, ProvenanceError
from livefusion.media.inspect import Inspection
from livefusion.media.sources.uri import redact
from livefusion.pipeline.mark import operator_mark_key
from livefusion.provenance.detector import Finding, ReliefLog, detect
from livefusion.provenance.keys import OperatorKey
from livefusion.provenance.label import AIGC, SOURCE_TYPE, SOURCE_TYPE_URI
from livefusion.provenance.manifest import UNSUPPORTED, ManifestState, manifest_state
from livefusion.provenance.search import SEARCH_LIMIT, FieldLog, search
from livefusion.provenance.watermark import WatermarkKey
from livefusion.provenance.xmp import read_xmp

SCHEMA: Final = "livefusion.verify/1"
SIGNED = frozenset({"valid", "trusted"})


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found in a video, ready to be told."""

    target: str
    watermark: Finding
    manifest: ManifestState
    notices: tuple[dict[str, Any], ...]
    key_frames: int
    tags: dict[str, str]
    xmp: bool
    pictures: int
    seconds: float
    damaged: str = ""

    @property
    def tagged(self) -> bool:
        """Whether the metadata say that the picture was altered."""
        named = any(SOURCE_TYPE in value for value in self.tags.values())
        return named or self.xmp or AIGC.lower() in self.tags

    @property
    def altered(self) -> bool:
        """Whether anything says that LiveFusion altered it."""
        ours = any(kind == SOURCE_TYPE_URI for kind in self.manifest.source_types)
        return self.watermark.detected or bool(self.notices) or self.tagged or ours

    def as_json(self) -> dict[str, Any]:
        """The report as plain JSON values, schema ``livefusion.verify/1``."""
        found = self.watermark
        payload = None if found.payload is None else found.payload.as_report()
        return {
            "schema": SCHEMA,
            "target": redact(self.target),
            "altered": self.altered,
            "watermark": {
                "detected": found.detected,
                "score": round(found.score, 2),
                "limit": round(found.limit, 2),
                "payload": payload,
                "windows": {"total": found.windows, "detected": found.windows_detected},
                "mirrored": bool(found.alignment and found.alignment.mirrored),
                "cropped": found.searched,
                "key": found.key_known,
            },
            "c2pa": asdict(self.manifest),
            "sei": {"found": bool(self.notices), "count": len(self.notices), "notice": self._notice},
            "metadata": {
                "found": self.tagged,
                "comment": self.tags.get("comment"),
                "digitalSourceType": self._source_type,
                "aigc": self._aigc,
                "xmp": self.xmp,
            },
            "pictures": self.pictures,
            "seconds": round(self.seconds, 3),
            "damaged": self.damaged or None,
        }

    @property
    def _notice(self) -> dict[str, Any] | None:
        return self.notices[0] if self.notices else None

    @property
    def _source_type(self) -> str | None:
        stated = self.tags.get("digitalsourcetype")
        return stated or (SOURCE_TYPE_URI if self.xmp else None)

    @property
    def _aigc(self) -> Any:
        text = self.tags.get(AIGC.lower())
        try:
            return None if text is None else json.loads(text)
        except ValueError:
            return text


def verify(
    target: str,
    *,
    seconds: float | None = None,
    keys: tuple[WatermarkKey, ...] | None = None,
    tell: Callable[[str], None] = lambda doing: None,
) -> Verification:
    """Examine a file or a stream of the network, the first ``seconds`` of it if they are given.

    ``keys`` are those that read the payload, by default the operator's; ``tell`` hears what is done now.
    ``InputError`` if it cannot be read as a video.
    """
    path = Path(target)
    keys = operator_keys() if keys is None else keys
    inspection = Inspection.open(target)
    try:
        log, fields = ReliefLog(inspection.size), FieldLog(inspection.size)
        count, last = 0, 0.0
        for luma, last in inspection.pictures(seconds):
            log.add(luma, last)
            fields.add(luma, last)
            count += 1
            tell(f"reading, {last:.0f} s")
        if not count:
            raise InputError(f"no picture of {redact(target)} can be read", "give more of it")
        fields.close()
        is_file = path.is_file()
        xmp = read_xmp(path) if is_file else None
        return Verification(
            target,
            _find(log, fields, keys, tell),
            manifest_state(path) if is_file else ManifestState(UNSUPPORTED),
            tuple(dict(notice) for notice in inspection.notices),
            inspection.key_frames,
            inspection.tags,
            xmp is not None and SOURCE_TYPE.encode() in xmp,
            count,
            last,
            inspection.damaged,
        )
    finally:
        inspection.close()


def _find(
    log: ReliefLog, fields: FieldLog, keys: tuple[WatermarkKey, ...], tell: Callable[[str], None]
) -> Finding:
    """Look where the mark was put, and if it is not there, everywhere."""
    tell("looking for the watermark")
    found = detect(log, keys)
    sighting = None
    if not found.detected:
        sighting = search(fields.fields, keys, lambda share: tell(f"looking for a part of it, {share:.0%}"))
    if sighting is None:
        return found
    return replace(
        found,
        detected=True,
        score=sighting.score,
        limit=SEARCH_LIMIT,
        payload=sighting.payload,
        searched=True,
    )


def operator_keys() -> tuple[WatermarkKey, ...]:
    """The operator's watermark key; none where the operator has no key that can be read."""
    try:
        operator = OperatorKey.find()
    except (IdentityError, ProvenanceError):
        return ()
    return () if operator is None else (operator_mark_key(operator),)
