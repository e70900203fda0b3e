"""``livefusion models build``: engines of TensorRT, built off the live path."""

import argparse
import time

from livefusion.cli.console import Console
from livefusion.core.errors import DeviceError, SettingsError
from livefusion.inference.catalog import find_model
from livefusion.inference.cuda import load_cuda
from livefusion.inference.loaded import load_engine
from livefusion.inference.provider import place_of
from livefusion.inference.registry import ModelEntry, ModelRegistry
from livefusion.inference.tensorrt import Builder, Engines, engine_key, require


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Build or remove; ``DeviceError`` without a GPU, its provider or its libraries."""
    entry = _entry(arguments.name)
    engines = Engines()
    if arguments.remove:
        count = engines.remove(entry.sha256)
        console.result(f"{count} engine{'' if count == 1 else 's'} of {entry.name} removed")
        return 0
    place = place_of(arguments.device)
    if not place.on_cuda:
        raise SettingsError(f"--device {arguments.device} is no GPU", "an engine is built for cuda or cuda:N")
    builder = Builder.RTX if arguments.rtx else Builder.TENSORRT
    load_cuda()
    require(builder)
    key = engine_key(entry.sha256, place, builder, fp16=arguments.fp16)
    if key is None:
        raise DeviceError(f"there is no {arguments.device}", "run `livefusion doctor`")
    engine = engines.begin(key)
    console.note(f"building for {key.gpu} with driver {key.driver}; this takes minutes, and happens once")
    began = time.monotonic()
    try:
        network = load_engine(entry, engine, place, None, threads=1, graphs=False)
    except BaseException:
        engines.remove_one(key)
        raise
    engines.finish(key)
    seconds = time.monotonic() - began
    console.result(f"{entry.name} is built in {seconds:.0f} s: {network.placement} in {engine.folder}")
    return 0


def _entry(name: str) -> ModelEntry:
    registry = ModelRegistry.load()
    return registry[name] if name in registry else find_model(name).entry
