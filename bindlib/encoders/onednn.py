"""Matrix products of a torch model on the CPU through oneDNN.

Torch multiplies float32 matrices with MKL, which leaves AVX-512 idle on processors that are not Intel's; oneDNN, which
is inside torch too, uses it. The arithmetic is float32 either way: vectors agree to rounding.
"""

from collections.abc import Callable

TYPICAL_ROWS = 512  # tokens in a batch; the weights are laid out for about so many


def use_onednn(model) -> None:
    """Let each ``torch.nn.Linear`` of ``model`` that is float32 and on the CPU compute through oneDNN, for inference.

    Costs a second copy of their weights. Does nothing where torch has no oneDNN or the processor no AVX-512.
    """
    import torch

    if not (torch.backends.mkldnn.is_available() and torch.backends.cpu.get_cpu_capability() == "AVX512"):
        return
    for layer in model.modules():
        # Not a subclass: torch's attention reads the weights of its own, and others may compute something else.
        if type(layer) is torch.nn.Linear and (layer.weight.device.type, layer.weight.dtype) == ("cpu", torch.float32):
            layer.forward = _product(layer)


def _product(layer) -> Callable:
    from torch import ops

    mkldnn = ops.mkldnn
    packed = mkldnn._reorder_linear_weight(layer.weight.detach(), TYPICAL_ROWS)
    bias = None if layer.bias is None else layer.bias.detach()
    return lambda rows: mkldnn._linear_pointwise(rows, packed, bias, "none", [], "")
