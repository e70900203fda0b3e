"""``livefusion models list`` and ``check``."""

import argparse
from typing import Any

from livefusion.cli.console import Console
from livefusion.cli.json_output import write_json
from livefusion.cli.table import table
from livefusion.core.errors import ModelError

SCHEMA = "livefusion.models-list/1"
_SHIPPED, _YOURS, _KNOWN = "ships", "yours", "can be fetched"


def list_models(arguments: argparse.Namespace, console: Console) -> int:
    """Show what ships, what the user has, and with ``--known`` what can be fetched."""
    rows = [*_shipped(), *_users(), *(_fetchable() if arguments.known else [])]
    if arguments.json is not None:
        write_json(arguments.json, {"schema": SCHEMA, "models": rows}, console)
        return 0
    head = ["name", "role", "MB", "licence"]
    cells = [[str(row["name"]), str(row["role"]), _megabytes(row), str(row["licence"])] for row in rows]
    if len({row["from"] for row in rows}) > 1:
        head.append("from")
        cells = [[*cell, str(row["from"])] for cell, row in zip(cells, rows, strict=True)]
    if getattr(arguments, "verbose", 0) > 0:
        head.append("source")
        cells = [[*cell, str(row["source"])] for cell, row in zip(cells, rows, strict=True)]
    console.result(table(head, cells, right={2}))
    return 0


def check(arguments: argparse.Namespace, console: Console) -> int:
    """Compare every file with its sha256; ``ModelError`` with the first that is damaged."""
    from livefusion.inference.catalog import UserModels
    from livefusion.inference.registry import ModelRegistry

    found = [(check.entry.name, check.problem) for check in ModelRegistry.load().check_all()]
    store = UserModels()
    found += [(name, store.problem(name)) for name in store.names()]
    if arguments.json is not None:
        answers = [{"name": name, "ok": not problem, "problem": problem} for name, problem in found]
        write_json(arguments.json, {"schema": "livefusion.models-check/1", "models": answers}, console)
    else:
        for name, problem in found:
            console.result(f"{'damaged' if problem else 'ok     '}  {name}")
    failed = [problem for _, problem in found if problem]
    if failed:
        raise ModelError(failed[0])
    return 0


def _shipped() -> list[dict[str, Any]]:
    from livefusion.inference.registry import ModelRegistry

    return [
        {
            "name": entry.name,
            "role": entry.role,
            "bytes": entry.size_bytes,
            "licence": entry.licence,
            "from": _SHIPPED,
            "source": entry.source,
            "sha256": entry.sha256,
        }
        for entry in ModelRegistry.load().values()
    ]


def _users() -> list[dict[str, Any]]:
    from livefusion.inference.catalog import UserModels

    return [
        {
            "name": model.name,
            "role": f"{model.role} ({model.kind.family or ' or '.join(model.kind.families)})",
            "bytes": model.size_bytes,
            "licence": model.licence,
            "from": _YOURS,
            "source": str(model.path),
            "sha256": model.sha256,
            "precision": model.precision,
        }
        for model in UserModels().all()
    ]


def _fetchable() -> list[dict[str, Any]]:
    from livefusion.inference.known import known_models

    return [
        {
            "name": model.name,
            "role": f"{model.role} ({model.family})",
            "bytes": model.size_bytes,
            "licence": model.licence,
            "from": _KNOWN,
            "source": model.mirrors[0] if model.mirrors else "",
            "sha256": model.sha256,
        }
        for model in known_models().values()
    ]


def _megabytes(row: dict[str, Any]) -> str:
    return "?" if row["bytes"] is None else f"{row['bytes'] / 1e6:.2f}"
