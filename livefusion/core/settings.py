"""The settings: each is one field with a doc line, from which flags, TOML keys, schema and reference come."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from livefusion.core.geometry import Size

Device = Annotated[
    str,
    Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$", json_schema_extra={"allowed": "auto, cpu, cuda or cuda:N"}),
]
PictureSize = Annotated[
    str,
    Field(
        pattern=r"^[1-9]\d{1,3}x[1-9]\d{1,3}$",
        json_schema_extra={"allowed": "WIDTHxHEIGHT in pixels, such as 1280x720"},
    ),
]


class MissingFacePolicy(StrEnum):
    """What is shown in place of a face that cannot be swapped."""

    BLUR = "blur"
    SAFE = "safe"
    HOLD = "hold"
    PASS = "pass"


class Preprocess(StrEnum):
    """What brings whole pictures into the detector's size."""

    AUTO = "auto"
    CUPY = "cupy"
    DALI = "dali"


class Pace(StrEnum):
    """Whether the graph keeps the time of the input or runs as fast as it can."""

    REALTIME = "realtime"
    FAST = "fast"


class Snapshot(BaseModel):
    """An immutable group of settings: threads share it by reference and read it once a frame."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class FaceSettings(Snapshot):
    """How faces are found and followed."""

    detector: str = ""
    """A face detector of your own (SCRFD, RetinaFace, YOLO or YuNet): a file, or a name from `livefusion
    models list`; left out, the built-in one."""
    landmarks: str = ""
    """A landmark network of your own (2DFAN, 2d106, 1k3d68, PIPNet) that says where eyes, nose and mouth are
    for the crops of networks: a file or a name; left out, the built-in mesh does."""
    detect_every: Annotated[int, Field(ge=1, le=120)] = 1
    """Look for new faces in the whole picture each so many frames; the look runs beside the frame's path."""
    detect_score: Annotated[float, Field(gt=0, lt=1)] = 0.6
    """Lowest detector score of a face."""
    presence: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Lowest presence score at which landmarks are trusted and the face is swapped."""
    max_faces: Annotated[int, Field(ge=1, le=16)] = 4
    """Largest number of faces that are swapped; further ones are covered by the safety policy."""
    lost_frames: Annotated[int, Field(ge=0, le=600)] = 30
    """Frames for which the place of a face that was lost stays covered."""
    smoothing: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Steadiness of the landmarks: 0 follows at once, 1 is calmest."""
    preprocess: Preprocess = Preprocess.AUTO
    """What shrinks pictures for the detector: cupy (our own kernels), dali (on its own CUDA stream), or auto
    (dali for several pictures at once, else cupy: 0.01 against 0.2 ms of the host's time)."""


class SwapSettings(Snapshot):
    """How the new face is made."""

    shape: Annotated[float, Field(ge=0, le=1)] = 0.5
    """How much of the new face's shape is taken, not only its skin; 0 for a painted face unless it is set."""
    mouth: Annotated[float, Field(ge=0, le=1)] = 1.0
    """How much of the new face's lips is taken; 0 leaves the performer's own."""
    eyes: Annotated[float, Field(ge=0, le=1)] = 1.0
    """How much of the new face's lids is taken; 0 leaves the performer's own."""
    smoothness: Annotated[float, Field(ge=0, le=1)] = 0.0
    """How much smoother the new face's skin is made: 0 leaves it as it is, 1 is very smooth; brows, lids and
    lips stay sharp."""
    opacity: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Strength of the new face over the old one."""
    morph: Annotated[float, Field(ge=0, le=1)] = 1.0
    """How much of its own face a DFM network that can be morphed puts in: 0 stays near the performer's."""
    identity_weight: Annotated[float, Field(ge=0, le=1)] = 0.5
    """How far a network's face is from the performer's own: 0.5 as it gives it, 0 nearer, 1 farther."""
    pixel_boost: Annotated[int, Field(ge=1, le=4)] = 1
    """How many times finer a network's faces are made than it gives them: 2 takes four times as long, 3 nine
    times, 4 sixteen times."""
    enhance_blend: Annotated[float, Field(ge=0, le=1)] = 0.8
    """How much of the face that --enhance restores is taken: 0 leaves it as it was, 1 takes all of it."""
    expression: Annotated[float, Field(ge=0, le=1)] = 1.0
    """How much the new face's skin follows the performer's smile; only of a face made from a video."""
    relight: Annotated[float, Field(ge=0, le=1)] = 0.8
    """How much of the scene's light falls on the new face; a painted face has 0.25 unless it is set."""
    grain: Annotated[float, Field(ge=0, le=1)] = 1.0
    """How much of the camera's grain the new face gets: 1 is as the scene, 0 leaves it clean."""
    match_colour: bool = True
    """Bring the new face to the colours of the old one; off for a painted face unless it is set."""
    occlusion: bool = True
    """What is in front of the face (a hand, hair, glasses, a microphone) stays in front of the new one."""


class BadgeText(StrEnum):
    """What the badge says."""

    ENGLISH = "english"
    CHINESE = "chinese"


class SafetySettings(Snapshot):
    """What is shown when a face cannot be swapped."""

    on_missing_face: MissingFacePolicy = MissingFacePolicy.BLUR
    """A face that is lost or not swappable: blur it, show the slate, hold the last frame, or pass it raw."""
    hold_frames: Annotated[int, Field(ge=1, le=300)] = 15
    """Longest hold, in frames; then the slate is shown."""
    badge: bool = True
    """Write "AI MODIFIED" on every picture; without it, saying so is up to you."""
    badge_text: BadgeText = BadgeText.ENGLISH
    """Language of the badge: "AI MODIFIED", or "AI" and the words for face swap in Chinese."""
    badge_off_reason: Annotated[str, Field(max_length=500)] = ""
    """Why there is no badge: --no-badge needs it, and it goes to the audit log."""
    preview: bool = False
    """Get a face ready whose owner has not agreed yet, to see if it would do; only the slate is shown."""


class GateFailure(StrEnum):
    """What is shown while the content gate cannot look."""

    SLATE = "slate"
    PICTURE = "picture"


class GateSettings(Snapshot):
    """A classifier of yours that looks at the picture beside its path, and at source photos."""

    gate_model: Path | None = None
    """ONNX file of the classifier: takes 1x3xNxN float32 RGB in [0, 1]; the last value of its first output is
    the score of what must not be shown."""
    gate_threshold: float = 0.5
    """Score from which on the slate is shown, and a source photo refused."""
    gate_seconds: Annotated[float, Field(ge=0.1, le=60)] = 1.0
    """Time between two looks."""
    gate_clear_looks: Annotated[int, Field(ge=1, le=100)] = 3
    """Clean looks after which the picture is shown again."""
    gate_on_failure: GateFailure = GateFailure.SLATE
    """What is shown while the classifier fails: the slate, or the picture."""
    gate_hold: bool = True
    """Live, show the slate until the classifier has looked once, for ten seconds at most; then it counts as
    failing. A file is looked at before its pictures go on."""


class WebSettings(Snapshot):
    """How browsers and other programs send and watch by WebRTC."""

    host: str = "127.0.0.1"
    """Address that webrtc: listens on; 0.0.0.0 lets the network in, by HTTPS alone. With 127.0.0.1 pictures
    do not leave this machine either, unless --ice names a server."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8090
    """Port that webrtc: listens on; 0 takes a free one."""
    token: str = ""
    """What senders and viewers must know; left out, one is made, kept where only you can read it, and shown
    with the address."""
    certificate: Path | None = None
    """Certificate for HTTPS, with its chain (PEM); left out, the network gets one that LiveFusion makes,
    which browsers ask about."""
    certificate_key: Path | None = None
    """Private key of the certificate (PEM), unless it is in the same file."""
    origins: tuple[str, ...] = ()
    """Another web site whose pages may send and watch here, or under whose name a proxy brings this one, such
    as https://example.org."""
    ice: tuple[str, ...] = ()
    """A server that helps peers behind routers: stun:HOST:PORT, or turn:USER:PASSWORD@HOST:PORT."""
    bitrate: Annotated[int, Field(ge=100, le=100_000)] = 8000
    """Most kbit/s of one picture, sent or received; who cannot take half, while others can, gets less by a
    second encoder."""


class RecordingSettings(Snapshot):
    """How files are written."""

    split_seconds: Annotated[float, Field(ge=1)] | None = None
    """Go on in NAME-2.mp4, NAME-3.mp4 and so on after so many seconds each."""
    split_mb: Annotated[float, Field(ge=1)] | None = None
    """Go on in NAME-2.mp4, NAME-3.mp4 and so on after so many megabytes each."""
    separate_encoder: bool = False
    """Encode recordings apart from the live outputs beside them: twice the work, but a viewer with a slow
    connection lowers the quality of what is sent only, not of what is kept."""


class Settings(Snapshot):
    """Everything one run of the graph needs to know."""

    input: str = ""
    """What to read: a file, camera:0, a stream (rtmp://, rtsp://, udp://HOST:PORT, srt://), webrtc: (a
    browser or a program that sends by WHIP), or performer: (a moving face without a camera). To wait for OBS:
    rtmp://127.0.0.1:1935/live/KEY?listen=1, with 0.0.0.0 for senders of the network."""
    source: str = ""
    """Whose face to put on: a persona or identity by name, a photo, a folder of photos of one person, or a
    painted face; left out, the first persona."""
    painted: bool = False
    """Take the source as a painted face; needed only where an image editor dropped the template's mark."""
    consent: str = ""
    """Who agreed to the use of the face in a photo, and to what: "myself", or "Ana Lima, for my talk"."""
    output: tuple[str, ...] = ()
    """Where to write: FILE.mp4, FILE.mkv, vcam:, a stream (rtmp://HOST/APP/KEY, rtsp://, udp://HOST:PORT,
    srt://), webrtc: (a page, and WHEP) or null:; repeat it for several outputs at once."""
    device: Device = "auto"
    """What to compute on: auto, cpu, cuda or cuda:N."""
    engine: str = "auto"
    """How to swap: auto or mesh (built in), or a network of yours: a file (.onnx, .dfm) or the name of one
    that was added (livefusion models add)."""
    family: str = ""
    """Family of the engine's network, where its file fits several: hyperswap, simswap, ghost, hififace or
    cscs."""
    enhance: str = ""
    """A network of yours that restores the new face (GFPGAN, GPEN, RestoreFormer, CodeFormer) or enlarges it
    (Real-ESRGAN): a file or a name. It is the first to be left out when frames come late; live, one that is
    too slow is not used."""
    occluder: str = ""
    """A network of yours that sees what is in front of faces (XSeg, an occluder, BiSeNet): a file or a name.
    What it or the built-in one sees there stays in front."""
    pace: Pace | None = None
    """Keep the input's time (realtime) or not (fast); left out, files run fast and live inputs do not."""
    duration: Annotated[float, Field(gt=0)] | None = None
    """Stop after so many seconds of input."""
    size: PictureSize | None = None
    """Picture size to ask a camera or the performer for, or to announce for webrtc:, as WxH."""
    fps: Annotated[float, Field(gt=0, le=240)] | None = None
    """Frame rate to ask a camera or the performer for."""
    stream_ca: Path | None = None
    """Certificates (PEM) by which servers of rtmps:// and rtsps:// are known, in place of the system's."""
    report: Path | None = None
    """Write the report of the run to this JSON file."""
    trace: Path | None = None
    """Write a timeline of every frame to this file, for chrome://tracing or Perfetto."""
    faces: FaceSettings = FaceSettings()
    """How faces are found and followed."""
    swap: SwapSettings = SwapSettings()
    """How the new face is made."""
    safety: SafetySettings = SafetySettings()
    """What is shown when a face cannot be swapped."""
    gate: GateSettings = GateSettings()
    """A classifier of yours that looks at the picture beside its path, and at source photos."""
    recording: RecordingSettings = RecordingSettings()
    """How files are written."""
    web: WebSettings = WebSettings()
    """How browsers and other programs send and watch by WebRTC."""

    @property
    def picture_size(self) -> Size | None:
        """The size to ask for, or None to leave it to the input."""
        if self.size is None:
            return None
        width, height = self.size.split("x")
        return Size(int(width), int(height))
