"""Settings from a TOML file."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from livefusion.core.catalogue import catalogue
from livefusion.core.errors import SettingsError
from livefusion.core.validate import unknown_setting

Values = dict[tuple[str, ...], Any]


def read_config(path: Path) -> Values:
    """The settings that a TOML file states, by path; hyphens in keys count as underscores.

    ``SettingsError`` if the file cannot be read, is not TOML, or has a key that no setting has, or
    takes a switch for another kind of setting.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingsError(
            f"cannot read {path} ({error.strerror})", "check the name after --config"
        ) from error
    except RecursionError as error:
        raise SettingsError(
            f"{path} is not valid TOML (it is nested too deeply)", "correct it there"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML ({error})", "correct it there") from error
    known = {setting.path: setting for setting in catalogue()}
    groups = {path[:1] for path in known if len(path) > 1}
    values = dict(_flattened((), document, groups))
    for key, value in values.items():
        name, where = ".".join(key), f" (in {path})"
        if key not in known:
            raise unknown_setting(name, where)
        # Flags are words, so the settings take "no" for false and true for 1; in TOML that is a slip.
        if isinstance(value, bool) is not (known[key].kind == "switch"):
            raise SettingsError(f"{name}{where} {value!r} is not valid", f"it is {known[key].allowed}")
    return values


def _flattened(
    path: tuple[str, ...], table: Mapping[str, Any], groups: set[tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in table.items():
        here = (*path, name.replace("-", "_"))
        if isinstance(value, Mapping) and here in groups:
            yield from _flattened(here, value, groups)
        else:
            yield here, value
