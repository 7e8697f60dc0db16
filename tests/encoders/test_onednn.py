import copy

import pytest
import torch

from bindlib.encoders.onednn import use_onednn

AVX512 = torch.backends.cpu.get_cpu_capability() == "AVX512" and torch.backends.mkldnn.is_available()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(48, 96), torch.nn.Linear(96, 32, bias=False)
        self.attention = torch.nn.MultiheadAttention(32, 2, batch_first=True)

    def forward(self, x):
        x = self.down(torch.nn.functional.gelu(self.up(x)))
        return self.attention(x, x, x)[0]


@pytest.fixture
def model():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Model().eval()


@pytest.mark.parametrize("shape", [(1, 1, 48), (3, 7, 48), (64, 15, 48), (2, 600, 48)])
@torch.inference_mode()
def test_the_numbers_are_the_same_to_rounding(model, shape):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    expected = model.double()(x.double())
    fast = copy.deepcopy(model).float()
    use_onednn(fast)
    torch.testing.assert_close(fast(x).double(), expected, atol=1e-5, rtol=1e-5)
    assert ("forward" in vars(fast.up)) is AVX512


def test_layers_that_are_not_plain_float32_are_left_alone(model):
    class Other(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x) + 1

    model.other, model.double_precision = Other(3, 3), torch.nn.Linear(3, 3).double()
    use_onednn(model)
    for layer in (model.other, model.double_precision, model.attention.out_proj):
        assert "forward" not in vars(layer)


def test_without_onednn_nothing_changes(model, monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    use_onednn(model)
    assert "forward" not in vars(model.up)
