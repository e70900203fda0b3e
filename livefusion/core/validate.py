"""From loose values to ``Settings``, and from what is wrong with them to one line that a person can use."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from livefusion.core.catalogue import Setting, catalogue
from livefusion.core.errors import SettingsError
from livefusion.core.settings import Settings
from livefusion.core.words import did_you_mean

Path = tuple[str, ...]


def make_settings(values: Mapping[str, Any], called: Mapping[Path, str] | None = None) -> Settings:
    """The settings that ``values`` (nested as the model is) describe.

    ``called`` names settings the way their author did, for example ``--fps``; the others go by their key.
    ``SettingsError`` with the first fault: the name, what is wrong and what is allowed.
    """
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        path = tuple(str(part) for part in fault["loc"])
        if fault["type"] == "extra_forbidden":
            raise unknown_setting(".".join(path)) from error
        setting = _setting(path)
        if setting is None:
            raise unknown_setting(".".join(path)) from error
        name = (called or {}).get(setting.path, setting.key)
        raise SettingsError(
            f"{name} {_shown(fault['input'])} is not valid", f"it is {setting.allowed}"
        ) from error


def unknown_setting(key: str, where: str = "") -> SettingsError:
    """The error for a key that no setting has, with the one that was probably meant."""
    keys = [setting.key for setting in catalogue()]
    if key in {name.partition(".")[0] for name in keys if "." in name}:
        return SettingsError(f"{key}{where} is a group of settings, not a value", f"write [{key}]")
    last = key.rsplit(".", 1)[-1]
    namesakes = [name for name in keys if name.rsplit(".", 1)[-1] == last]
    hint = f"did you mean {namesakes[0]}?" if namesakes else did_you_mean(key, keys)
    remedy = hint or "`livefusion settings --reference` lists them"
    return SettingsError(f"there is no setting {key}{where}", remedy)


def _setting(path: Path) -> Setting | None:
    for setting in catalogue():
        if path[: len(setting.path)] == setting.path:
            return setting
    return None


def _shown(value: Any) -> str:
    text = str(value).replace("\n", " ")
    return repr(text if len(text) <= 40 else text[:39] + "…")
