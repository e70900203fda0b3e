"""Mix textures: one thread for each texel of the box."""

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, view
from livefusion.ops.reference.texels import MOST_DELTAS, check_boxes, to_steps

_MIX = Kernel("lf_mix_texels", VIEW * 3 + "iiii" + "i" * MOST_DELTAS)


def mix_texels(
    kernels: Launcher,
    *,
    base: Array,
    deltas: Array,
    weights: tuple[float, ...],
    out: Array,
    x: int,
    y: int,
) -> None:
    """Add weighted differences to a box of a texture; see ``livefusion.ops.reference.texels``."""
    height = check_boxes(base.shape, deltas.shape, weights, x, y)
    steps = to_steps(weights)
    padding = [0] * (MOST_DELTAS - len(steps))
    extent = (deltas.shape[1], height, 1)
    views = (*view(base), *view(deltas), *view(out))
    kernels.launch(_MIX, extent, *views, x, y, height, len(steps), *steps, *padding)
