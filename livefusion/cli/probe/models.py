"""Are the networks there and whole?"""

from livefusion.cli.probe.finding import Finding, State
from livefusion.core.errors import ModelError


def find_models() -> list[Finding]:
    """One finding for all files of the registry."""
    from livefusion.inference.registry import ModelRegistry

    try:
        registry = ModelRegistry.load()
    except ModelError as error:
        return [Finding("models", State.BROKEN, error.problem, error.remedy)]
    damaged = [check.problem for check in registry.check_all() if not check.passed]
    if damaged:
        return [Finding("models", State.BROKEN, damaged[0], "`livefusion models check` shows all of them")]
    return [Finding("models", State.OK, f"{len(registry)} files, every sha256 as registered")]
