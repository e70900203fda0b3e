"""Asks one GPU what it decodes or encodes, and prints what it says as lines of JSON.

Run in a process of its own, because a driver that is only half there ends the process that asks. It says what
it is about to try before it tries, so that whoever reads the lines knows at what it died.
"""

import json
import sys
from typing import Any

WIDTH, HEIGHT = 640, 360


def main() -> int:
    """Arguments: ``decode`` or ``encode``, the number of the GPU, for ``decode`` the names of codecs."""
    what, gpu, *codecs = sys.argv[1:]
    _say(step="loading PyNvVideoCodec")
    try:
        import PyNvVideoCodec
    except Exception as error:  # whatever it is, the parent is told
        return _say(unloadable=str(error))
    try:
        if what == "decode":
            return _ask_decoder(PyNvVideoCodec, int(gpu), codecs)
        return _ask_encoder(PyNvVideoCodec, int(gpu))
    except Exception as error:  # the same
        return _say(fault=str(error))


def _ask_decoder(module: Any, gpu: int, codecs: list[str]) -> int:
    for name in codecs:
        _say(step=f"asking what it decodes of {name}")
        codec = getattr(module.cudaVideoCodec, name.upper())
        try:
            caps = module.GetDecoderCaps(gpuid=gpu, codec=codec)
        except Exception as error:  # one codec's refusal is not another's
            _say(codec=name, refused=str(error))
        else:
            _say(codec=name, caps=dict(caps))
    _say(step="opening a decoder")
    module.CreateDecoder(gpuid=gpu, codec=module.cudaVideoCodec.H264, usedevicememory=True)
    return _say(opened=True)


def _ask_encoder(module: Any, gpu: int) -> int:
    _say(step="asking what it encodes")
    _say(caps=dict(module.GetEncoderCaps(gpuid=gpu, codec="h264")))
    _say(step="opening an encoder")
    module.CreateEncoder(WIDTH, HEIGHT, "NV12", False, gpu_id=gpu, codec="h264", preset="P3")
    return _say(opened=True)


def _say(**answer: object) -> int:
    sys.stdout.write(f"{json.dumps(answer)}\n")
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
