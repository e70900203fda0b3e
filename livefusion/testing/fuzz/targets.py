"""The parsers that read what others wrote, and whole inputs to begin from."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np

from livefusion.testing.offers import OBS

Read = Callable[[bytes], object]
"""Parses one input; raises what the parser raises."""


@dataclass(frozen=True, slots=True)
class Target:
    """A parser. ``make`` gets a folder of its own, and gives the seeds and the parser."""

    name: str
    make: Callable[[Path], tuple[Sequence[bytes], Read]]
    text: bool = False
    also: tuple[type[Exception], ...] = ()
    """Errors beside ours that its callers are promised."""


def _through_file(path: Path, read: Callable[[Path], object]) -> Read:
    def parse(data: bytes) -> None:
        path.write_bytes(data)
        read(path)

    return parse


def _offer(folder: Path) -> tuple[Sequence[bytes], Read]:
    from livefusion.media.webrtc.music import offers_opus, with_music
    from livefusion.media.webrtc.offer import MalformedOfferError, read_offer

    def parse(data: bytes) -> None:
        try:
            text = str(data, "utf-8")
        except UnicodeDecodeError as error:
            raise MalformedOfferError("this is no UTF-8 text") from error
        read_offer(text, direction="sendonly")
        offers_opus(text)
        with_music(text)

    return [OBS.encode()], parse


def _answer(folder: Path) -> tuple[Sequence[bytes], Read]:
    """The whole way of an offer: aiortc reads it, and answers."""
    from livefusion.core.timing import SystemClock
    from livefusion.media.webrtc.ice import Reach
    from livefusion.media.webrtc.inlet import Inlet
    from livefusion.media.webrtc.offer import read_offer
    from livefusion.media.webrtc.publisher import Publisher

    loop = asyncio.new_event_loop()

    async def admit(text: str) -> None:
        offer = read_offer(text, direction="sendonly")
        publisher = Publisher(Inlet(), SystemClock(), 1_000_000, Reach(local=True))
        await publisher.answer(offer)
        await publisher.connection.close()

    return [OBS.encode()], lambda data: loop.run_until_complete(admit(str(data, "utf-8", "replace")))


def _fragment(folder: Path) -> tuple[Sequence[bytes], Read]:
    from livefusion.server.fragment import read_fragment

    seed = (
        "a=ice-ufrag:EsAw\r\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\n"
        "a=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host\r\na=end-of-candidates\r\n"
    )
    return [seed.encode()], lambda data: read_fragment(str(data, "utf-8", "replace"))


def _amf(folder: Path) -> tuple[Sequence[bytes], Read]:
    from livefusion.media.network.amf import decode, encode

    values = ["connect", 1.0, {"app": "live", "tcUrl": "rtmp://a/live", "deep": {"a": {"b": True}}}, None]
    nested = b"\x03\x00\x01a" * 3000
    return [b"".join(map(encode, values)), nested], decode


def _consent(folder: Path) -> tuple[Sequence[bytes], Read]:
    from livefusion.provenance.consent import ConsentRecord, consent_from_text
    from livefusion.provenance.keys import OperatorKey

    key = OperatorKey.load(folder)
    path = folder / "consent.json"
    photo = folder / "photo.png"
    photo.write_bytes(_pictures()[0])
    consent_from_text("Ana Lima, for my talk", [photo]).save(path, key)
    seed = path.read_bytes()
    document = json.loads(seed)
    return [seed, json.dumps(document).encode()], _through_file(
        path, lambda p: ConsentRecord.load(p, key.public)
    )


def _audit(folder: Path) -> tuple[Sequence[bytes], Read]:
    from livefusion.provenance.audit_record import AuditEvent, AuditRecord
    from livefusion.provenance.audit_verify import verify_audit
    from livefusion.provenance.keys import OperatorKey

    key = OperatorKey.load(folder)
    last: AuditRecord | None = None
    lines = b""
    for event in list(AuditEvent)[:6]:
        last = AuditRecord.make(last, "run-1", event, {"what": "a test", "numbers": [1, 2]}, key)
        lines += last.line + b"\n"
    path = folder / "audit.jsonl"
    return [lines], _through_file(path, lambda p: verify_audit(p, [key.public]))


def _config(folder: Path) -> tuple[Sequence[bytes], Read]:
    from livefusion.cli.flags import settings_from
    from livefusion.cli.run import parser

    seed = (
        b'input = "camera:0"\noutput = ["a.mp4", "webrtc:"]\nduration = 3.5\nsize = "640x360"\n'
        b'[web]\nport = 8090\nice = ["stun:a:1"]\n[recording]\nsplit_seconds = 60\n'
    )
    path = folder / "settings.toml"
    arguments = parser().parse_args(["--config", str(path)])
    return [seed], _through_file(path, lambda p: settings_from(arguments))


def _registry(folder: Path) -> tuple[Sequence[bytes], Read]:
    from livefusion.inference.registry import REGISTRY_FILE, ModelRegistry, find_models_folder

    seed = (find_models_folder() / REGISTRY_FILE).read_bytes()
    return [seed], _through_file(folder / REGISTRY_FILE, lambda p: ModelRegistry.load(folder))


@cache
def _pictures() -> tuple[bytes, ...]:
    """Small photos of every kind that is read."""
    from PIL import Image

    noise = np.random.default_rng(1).integers(0, 255, (40, 56, 4), np.uint8)
    made = []
    for kind, mode in (
        *(("PNG", "RGBA"), ("PNG", "P"), ("PNG", "I;16"), ("JPEG", "RGB"), ("WEBP", "RGBA"), ("GIF", "P")),
        *(("TIFF", "RGB"), ("BMP", "RGB"), ("PPM", "RGB"), ("AVIF", "RGB"), ("JPEG2000", "RGB")),
    ):
        image = Image.fromarray(noise).convert("L" if mode == "I;16" else mode)
        file = BytesIO()
        (image.convert("I;16") if mode == "I;16" else image).save(file, kind)
        made.append(file.getvalue())
    return tuple(made)


def _image(folder: Path) -> tuple[Sequence[bytes], Read]:
    from livefusion.media.paint import is_marked
    from livefusion.media.photo import load_photo, load_rgba
    from livefusion.testing.door_knocks import image_bomb

    def read(path: Path) -> None:
        is_marked(path)
        load_photo(path)
        load_rgba(path)

    return [*_pictures(), image_bomb()], _through_file(folder / "photo.png", read)


def _arrays(folder: Path) -> tuple[Sequence[bytes], Read]:
    from livefusion.core.archive import read_arrays

    plain, packed = BytesIO(), BytesIO()
    arrays: dict[str, Any] = {
        "texture": np.zeros((16, 16, 4), np.uint8),
        "shape": np.ones((9, 3), np.float32),
    }
    np.savez(plain, label=np.array("Ana"), **arrays)
    np.savez_compressed(packed, label=np.array("Ana"), **arrays)
    return [plain.getvalue(), packed.getvalue()], lambda data: read_arrays(BytesIO(data))


def _video(suffix: str, codec: str, sound: str) -> Callable[[Path], tuple[Sequence[bytes], Read]]:
    def make(folder: Path) -> tuple[Sequence[bytes], Read]:
        from livefusion.core.events import Eos
        from livefusion.core.geometry import Size
        from livefusion.core.timing import SystemClock
        from livefusion.devices.cpu import CpuDevice
        from livefusion.media.sources.file import FileSource
        from livefusion.runtime.stage import StageContext
        from livefusion.testing.media import ClipFormat, pattern_picture, write_clip

        form = ClipFormat(codec=codec, sound=sound, sound_seconds=0.3)
        pictures = [pattern_picture(Size(64, 48), index) for index in range(8)]
        seed = write_clip(folder / f"seed{suffix}", pictures, form).read_bytes()

        def read(path: Path) -> None:
            source = FileSource(path, CpuDevice(), duration=5.0)
            source.open(StageContext("fuzz", SystemClock()))
            try:
                for _ in range(60):
                    if isinstance(source.read(), Eos):
                        break
            finally:
                source.close()

        return [seed], _through_file(folder / f"clip{suffix}", read)

    return make


def _onnx(folder: Path) -> tuple[Sequence[bytes], Read]:
    """Looked at first, then loaded, as a model of the user's is."""
    import hashlib

    from livefusion.inference.loaded import load_network
    from livefusion.inference.provider import Place
    from livefusion.inference.registry import ModelEntry, find_models_folder
    from livefusion.inference.vet import vet

    def read(path: Path) -> None:
        graph = vet(path)
        content = path.read_bytes()
        entry = ModelEntry(
            "fuzz",
            "swap",
            path,
            hashlib.sha256(content).hexdigest(),
            len(content),
            "MIT",
            "",
            graph.inputs,
            graph.outputs,
        )
        load_network(entry, Place("cpu"), None, threads=1, graphs=False)

    return [(find_models_folder() / "yunet.onnx").read_bytes()], _through_file(folder / "model.onnx", read)


TARGETS: Final = (
    Target("sdp", _offer, text=True),
    Target("sdp-answer", _answer, text=True),
    Target("sdp-fragment", _fragment, text=True),
    Target("rtmp-amf", _amf),
    Target("json-consent", _consent, text=True),
    Target("json-audit", _audit, text=True),
    Target("toml-settings", _config, text=True),
    Target("toml-models", _registry, text=True),
    Target("image", _image),
    Target("arrays", _arrays, also=(OSError, EOFError, ValueError, BadZipFile)),
    Target("mp4", _video(".mp4", "libx264", "aac")),
    Target("mkv", _video(".mkv", "ffv1", "")),
    Target("onnx", _onnx),
)
