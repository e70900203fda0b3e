"""Flags made from the settings, and settings made from flags and a configuration file.

Flags win over the file, the file over the defaults.
"""

import argparse
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from livefusion.cli.config_file import Values, read_config
from livefusion.core.catalogue import Setting, catalogue, group_meaning
from livefusion.core.errors import SettingsError
from livefusion.core.settings import Settings
from livefusion.core.validate import make_settings
from livefusion.media.paths import same_file

SHORT_FLAGS = {"input": "-i", "source": "-s", "output": "-o"}
METAVARS = {
    "text": "TEXT",
    "number": "NUMBER",
    "whole number": "N",
    "list": "OUTPUT",
}
NAMED_METAVARS = {
    "input": "INPUT",
    "source": "SOURCE",
    "consent": "WHO",
    "device": "DEVICE",
    "engine": "ENGINE",
    "size": "WxH",
    "duration": "SECONDS",
    "fps": "FPS",
    "gate.gate_model": "FILE.onnx",
    "gate.gate_seconds": "SECONDS",
    "recording.split_seconds": "SECONDS",
    "recording.split_mb": "MB",
    "web.host": "ADDRESS",
    "web.certificate": "FILE.pem",
    "web.certificate_key": "FILE.pem",
    "web.origins": "URL",
    "web.ice": "URL",
    "web.bitrate": "KBIT",
    "report": "FILE.json",
    "trace": "FILE.json",
}


def add_settings(parser: argparse.ArgumentParser, *, leave_out: Collection[str] = ()) -> None:
    """Give a parser ``--config`` and a flag for every setting whose key is not in ``leave_out``."""
    parser.add_argument(
        "--config", type=Path, metavar="FILE.toml", help="read settings from this file; flags win"
    )
    groups: dict[str, argparse._ArgumentGroup] = {}
    for setting in catalogue():
        if setting.key in leave_out:
            continue
        target: argparse._ActionsContainer = parser
        if len(setting.path) > 1:
            name = setting.path[0]
            if name not in groups:
                groups[name] = parser.add_argument_group(name, group_meaning(name))
            target = groups[name]
        _add_flag(target, setting)


def settings_from(arguments: argparse.Namespace, defaults: Mapping[str, Any] | None = None) -> Settings:
    """The settings of flags, configuration file and a command's own ``defaults`` (by key), in that order.

    ``SettingsError`` names the flag or key that is wrong.
    """
    values: Values = {tuple(key.split(".")): value for key, value in (defaults or {}).items()}
    called: dict[tuple[str, ...], str] = {}
    config: Path | None = arguments.config
    if config is not None:
        stated = read_config(config)
        values.update(stated)
        called.update({path: f"{'.'.join(path)} (in {config})" for path in stated})
    for setting in catalogue():
        value = getattr(arguments, setting.key, None)
        if value is not None:
            values[setting.path] = value
            called[setting.path] = setting.flag
    settings = make_settings(_nested(values), called)
    for flag, path in (("--report", settings.report), ("--trace", settings.trace)):
        if config is not None and path is not None and same_file(config, path):
            raise SettingsError(f"{flag} {path} is the configuration itself", "write to another file")
    return settings


def _add_flag(target: argparse._ActionsContainer, setting: Setting) -> None:
    names = [setting.flag]
    if setting.key in SHORT_FLAGS:
        names.insert(0, SHORT_FLAGS[setting.key])
    help_text = f"{setting.meaning}{_limits(setting)}".replace("%", "%%")
    if setting.kind == "switch":
        target.add_argument(
            *names, dest=setting.key, action=argparse.BooleanOptionalAction, default=None, help=help_text
        )
        return
    metavar = "|".join(setting.choices) or NAMED_METAVARS.get(setting.key) or METAVARS[setting.kind]
    action = "append" if setting.kind == "list" else "store"
    target.add_argument(*names, dest=setting.key, action=action, metavar=metavar, help=help_text)


def _limits(setting: Setting) -> str:
    notes = []
    if setting.kind in {"number", "whole number"}:
        notes.append(setting.allowed)
    if setting.kind == "switch":
        notes.append(f"default {'on' if setting.default else 'off'}")
    elif setting.default not in (None, "", [], ()):
        notes.append(f"default {setting.default}")
    return f" ({', '.join(notes)})" if notes else ""


def _nested(values: Values) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in values.items():
        branch = tree
        for name in path[:-1]:
            branch = branch.setdefault(name, {})
        branch[path[-1]] = value
    return tree
