"""Cameras as Linux lists them in sysfs."""

from pathlib import Path

_CLASS = Path("/sys/class/video4linux")


def list_video_nodes(root: Path = _CLASS) -> list[tuple[str, str]]:
    """(device path, name) of each camera in the order of their numbers.

    A camera has several nodes: the first, of index 0, gives pictures, the others metadata. Virtual devices
    such as loopbacks are left out, so that no program takes its own output for a camera.
    """
    nodes = [node for node in root.glob("video*") if node.name.removeprefix("video").isdigit()]
    nodes.sort(key=lambda node: int(node.name.removeprefix("video")))
    return [(f"/dev/{node.name}", _text(node / "name")) for node in nodes if _is_camera(node)]


def _is_camera(node: Path) -> bool:
    return _text(node / "index") in ("", "0") and "virtual" not in node.resolve().parts


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
