"""``livefusion models``: the networks that ship, and those that a user brings."""

import argparse
from pathlib import Path

from livefusion.cli.console import Console
from livefusion.cli.json_output import json_target
from livefusion.cli.models_list import check, list_models
from livefusion.cli.parser import Actions, CommandParser


def parser() -> CommandParser:
    """The parser of ``livefusion models``."""
    made = CommandParser(
        "livefusion models",
        "The networks that ship with LiveFusion, and those of your own. Nothing is downloaded unless you\n"
        "say `fetch`, and no network of others is part of LiveFusion: its licence is between you and them.",
        "livefusion models add ~/Downloads/inswapper_128.onnx",
    )
    actions = made.add_actions("list|check|add|fetch|remove|try|build")
    for describe in (
        _describe_list,
        _describe_check,
        _describe_add,
        _describe_fetch,
        _describe_remove,
        _describe_try,
        _describe_build,
    ):
        describe(actions)
    return made


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Do what the action says; ``ModelError`` if a file is missing, damaged or not what it should be."""
    if arguments.action == "list":
        return list_models(arguments, console)
    if arguments.action == "check":
        return check(arguments, console)
    if arguments.action == "try":
        from livefusion.cli import models_try

        return models_try.run(arguments, console)
    if arguments.action == "build":
        from livefusion.cli import models_build

        return models_build.run(arguments, console)
    from livefusion.cli import models_user

    return models_user.run(arguments, console)


def _describe_list(actions: Actions) -> None:
    listed = actions.add_parser(
        "list",
        help="show what there is (with -v where it comes from)",
        description="What ships, what you added or fetched, and with --known what can be fetched.",
        example="livefusion models list --known",
    )
    listed.add_argument("--known", action="store_true", help="what is known and can be fetched")
    _add_json(listed)


def _describe_check(actions: Actions) -> None:
    checked = actions.add_parser(
        "check",
        help="compare every file's sha256",
        description="Compare every file's sha256 with what it was.",
        example="livefusion models check",
    )
    _add_json(checked)


def _describe_remove(actions: Actions) -> None:
    removed = actions.add_parser(
        "remove",
        help="delete a file that you added or fetched",
        description="Delete a file that you added or fetched; one that was added --in-place stays there.",
        example="livefusion models remove ghost_2",
    )
    removed.add_argument("name", metavar="NAME", help="which one")


def _describe_add(actions: Actions) -> None:
    added = actions.add_parser(
        "add",
        help="take in a file of your own",
        description="Say what a file is, and keep a copy under a name for --engine and the settings.",
        example="livefusion models add swap.onnx --family ghost",
    )
    added.add_argument("file", metavar="FILE", type=Path, help="an .onnx or .dfm file")
    added.add_argument("--name", default="", help="what to call it; left out, what it is known as")
    added.add_argument("--family", default="", help="what it is, where its graph fits several families")
    added.add_argument("--in-place", action="store_true", help="leave the file where it lies, keep no copy")
    _add_json(added)


def _describe_fetch(actions: Actions) -> None:
    fetched = actions.add_parser(
        "fetch",
        help="download a known file, after showing its licence",
        description="Download a known file into your folder of models. It goes on where it was cut off,\n"
        "uses the proxy that HTTPS_PROXY names, and keeps nothing whose sha256 is not right.",
        example="livefusion models fetch ghost_2 --accept-licence",
    )
    fetched.add_argument("name", metavar="NAME", help="one of `livefusion models list --known`, or https://…")
    fetched.add_argument("--accept-licence", action="store_true", help="you have read it and agree to it")
    fetched.add_argument("--sha256", default="", help="what an https:// file must have")
    fetched.add_argument("--family", default="", help="what an https:// file is, if its graph fits several")
    _add_json(fetched)


def _describe_try(actions: Actions) -> None:
    tried = actions.add_parser(
        "try",
        help="look at what a network of yours makes of a photo",
        description="Find faces or landmarks in a photo with a network of yours and draw them, or\n"
        "restore its faces.",
        example="livefusion models try scrfd_2.5g photo.jpg -o seen.png",
    )
    tried.add_argument("name", metavar="NAME", help="a model's name or file")
    tried.add_argument("photo", metavar="PHOTO", type=Path, help="a photo with faces")
    tried.add_argument(
        "-o", "--out", metavar="OUT.png", type=Path, help="draw what is seen into this picture"
    )
    _add_json(tried)


def _describe_build(actions: Actions) -> None:
    built = actions.add_parser(
        "build",
        help="build a network's engine of TensorRT for this GPU",
        description="Build a network's engine of TensorRT for this GPU, driver and version, which takes\n"
        "minutes. Runs on this GPU use it from then on, until one of them changes. Written against\n"
        "NVIDIA's documents and not tried on a GPU yet.",
        example="livefusion models build inswapper_128 --fp16",
    )
    built.add_argument("name", metavar="NAME", help="a model's name or file")
    built.add_argument("--device", default="cuda", help="the GPU: cuda or cuda:N (default cuda)")
    built.add_argument("--rtx", action="store_true", help="with TensorRT for RTX, for GeForce and RTX cards")
    built.add_argument("--fp16", action="store_true", help="compute in half precision where it is fp32")
    built.add_argument("--remove", action="store_true", help="delete its engines instead")


def _add_json(parser: CommandParser) -> None:
    parser.add_argument(
        "--json", metavar="FILE", type=json_target, help="write the answer as JSON (- stdout)"
    )
