"""``livefusion models add``, ``fetch`` and ``remove``: the files that a user brings."""

import argparse
from typing import Any

from livefusion.cli.console import Console
from livefusion.cli.json_output import write_json
from livefusion.cli.progress import tell_on
from livefusion.core.errors import SettingsError
from livefusion.inference.catalog import ModelFile, UserModels
from livefusion.inference.known import known_models


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Add, fetch or remove; ``ModelError`` and ``SettingsError`` say what is wrong."""
    if arguments.action == "remove":
        UserModels().remove(arguments.name)
        console.result(f"{arguments.name} is removed")
        return 0
    if arguments.action == "add":
        model = UserModels().add(
            arguments.file, name=arguments.name, family=arguments.family, in_place=arguments.in_place
        )
        return _tell(model, "added", arguments, console)
    return _fetch(arguments, console)


def _fetch(arguments: argparse.Namespace, console: Console) -> int:
    from livefusion.inference.fetch import fetch, of_address

    store = UserModels()
    if "://" in arguments.name:
        wanted, licence = of_address(arguments.name, arguments.sha256), "unknown: see where the file is from"
    else:
        known = known_models()[arguments.name]
        wanted, licence = known.download, f"{known.licence}{f' ({known.terms})' if known.terms else ''}"
    if wanted.name in store.names() and not store.problem(wanted.name):
        return _tell(store.find(wanted.name), "here already", arguments, console)
    _ask_for_consent(wanted.name, licence, arguments.accept_licence, console)
    tell = tell_on(console)
    try:
        model = fetch(wanted, store, lambda progress: tell(progress.line), family=arguments.family)
    finally:
        console.status("")
    return _tell(model, "fetched", arguments, console)


def _ask_for_consent(name: str, licence: str, accepted: bool, console: Console) -> None:
    """Show the licence; ``SettingsError`` unless it is agreed to."""
    console.note(f"{name}: licence: {licence}")
    console.note("It is a work of others and no part of LiveFusion; you agree to its terms with them.")
    if accepted:
        return
    if not console.interactive:
        raise SettingsError(
            f"{name} is fetched only if you agree to its licence",
            "read it, then add --accept-licence",
        )
    if console.ask("Do you agree? [y/N]").casefold() not in {"y", "yes"}:
        raise SettingsError(f"{name} is not fetched", "without its licence it is not yours to use")


def _tell(model: ModelFile, done: str, arguments: argparse.Namespace, console: Console) -> int:
    family = model.kind.family or " or ".join(model.kind.families)
    if arguments.json is not None:
        write_json(arguments.json, _document(model, done), console)
        return 0
    console.result(f"{model.name} is {done}: {model.role} ({family}), {model.precision}, {model.licence}")
    if not model.kind.family:
        console.note(
            "livefusion: advice: its graph fits several families; say which with --family before using it"
        )
    elif model.role == "swap":
        console.note(f"livefusion: advice: use it with --engine {model.name}")
    return 0


def _document(model: ModelFile, done: str) -> dict[str, Any]:
    return {
        "schema": "livefusion.model/1",
        "done": done,
        "name": model.name,
        "path": str(model.path),
        "sha256": model.sha256,
        "bytes": model.size_bytes,
        "role": model.role.value,
        "families": list(model.kind.families),
        "precision": model.precision,
        "licence": model.licence,
        "known": model.known is not None,
    }
