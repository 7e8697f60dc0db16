import json
import logging
import pickle
import socket
from contextlib import suppress
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from bindlib.encoders.base import DualEncoder
from bindlib.encoders.open_clip import _load_failure, _skips_padding, token_lengths
from bindlib.encoders.zoo import CARDS, load_encoder
from bindlib.errors import BindlibError

CAPTIONS = ["a red car and a blue dog", "a blue car and a red dog", "one"]
CONFIG = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
    "text_cfg": {"context_length": 12, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
SIZES = {
    "tiny": {},
    "tiny-quickgelu": {"quick_gelu": True},
    "tiny-wide": {"embed_dim": 24},
    "tiny-long": {"text_cfg": {**CONFIG["text_cfg"], "context_length": 20}},
    "tiny-two-ways": {"text_cfg": {**CONFIG["text_cfg"], "no_causal_mask": True}},
    "tiny-last": {"text_cfg": {**CONFIG["text_cfg"], "pool_type": "last"}},
    "tiny-class": {"custom_text": True, "text_cfg": {**CONFIG["text_cfg"], "embed_cls": True}},
    "tiny-tokens": {"custom_text": True, "text_cfg": {**CONFIG["text_cfg"], "output_tokens": True}},
}


@pytest.fixture(scope="module", autouse=True)
def tiny_architectures(tmp_path_factory):
    """Small architectures beside open_clip's own; removed again afterwards."""
    folder = tmp_path_factory.mktemp("configs")
    for name, changes in SIZES.items():
        (folder / f"{name}.json").write_text(json.dumps({**CONFIG, **changes}))
    open_clip.add_model_config(folder)
    yield
    open_clip.factory._MODEL_CONFIG_PATHS.remove(folder)
    for name in SIZES:
        open_clip.factory._MODEL_CONFIGS.pop(name)


@pytest.fixture(scope="module")
def weights(tiny_architectures) -> dict:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = open_clip.create_model("tiny")
    return {key: tensor.contiguous() for key, tensor in model.state_dict().items()}


@pytest.fixture
def file(weights, tmp_path) -> Path:
    save_file(weights, tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def _expected(weights: dict, quick_gelu: bool) -> np.ndarray:
    """Rows from open_clip alone."""
    model = open_clip.create_model("tiny", force_quick_gelu=quick_gelu).eval()
    model.load_state_dict(weights)
    with torch.no_grad():
        return model.encode_text(open_clip.get_tokenizer("tiny")(CAPTIONS), normalize=True).numpy()


def _error(name: str) -> str:
    with pytest.raises(BindlibError) as caught:
        load_encoder(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_safetensors_file_round_trips(file, weights):
    tower = load_encoder(f"open_clip:tiny/{file}")
    assert isinstance(tower, DualEncoder)
    assert tower.context_length == 12
    np.testing.assert_allclose(tower.encode_text(CAPTIONS), _expected(weights, False), atol=1e-6)


def test_a_torch_file_of_tensors_gives_the_same_rows(file, weights, tmp_path):
    torch.save({"epoch": 3, "state_dict": weights}, tmp_path / "model.pt")
    first, second = (load_encoder(f"open_clip:tiny/{path}") for path in (file, tmp_path / "model.pt"))
    np.testing.assert_array_equal(first.encode_text(CAPTIONS), second.encode_text(CAPTIONS))
    assert first.revision != second.revision


def test_images_go_into_the_same_space(file, weights):
    rng = np.random.default_rng(0)
    images = [Image.fromarray(rng.integers(0, 255, (40, 60, 3), dtype=np.uint8)) for _ in range(3)]
    rows = load_encoder(f"open_clip:tiny/{file}").encode_image([*images, images[0].convert("RGBA")])
    model = open_clip.create_model("tiny").eval()
    model.load_state_dict(weights)
    transform = open_clip.image_transform(32, is_train=False)
    with torch.no_grad():
        expected = model.encode_image(torch.stack([transform(image) for image in images]), normalize=True).numpy()
    np.testing.assert_allclose(rows[:3], expected, atol=1e-6)
    np.testing.assert_array_equal(rows[0], rows[3])


def test_images_are_made_ready_as_the_file_beside_says(file, weights):
    image = Image.new("RGB", (32, 32), (200, 30, 90))
    plain = load_encoder(f"open_clip:tiny/{file}").encode_image([image])
    beside = {"preprocess_cfg": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}}
    file.with_name("open_clip_config.json").write_text(json.dumps(beside))
    told = load_encoder(f"open_clip:tiny/{file}").encode_image([image])
    assert not np.allclose(plain, told, atol=1e-3)


def test_captions_longer_than_the_context_are_counted(file):
    tower = load_encoder(f"open_clip:tiny/{file}")
    captions = [" ".join(["dog"] * n) for n in (1, 9, 10, 11, 30)]  # and a start and an end
    assert tower.count_truncated(captions) == 2
    rows = tower.encode_text([" ".join(["dog"] * 10) + end for end in (" cat", " horse")])
    np.testing.assert_array_equal(rows[0], rows[1])


def test_other_tokenizers_are_counted_by_their_own_tokens():
    folder = next(card for card in CARDS if card.name == "minilm").files[1].locate().parent
    captions = ["a red car", "  a   red car ", "unbelievably " * 30]
    for mode, special in ((None, 2), ("clips", 3)):
        tokenizer = open_clip.tokenizer.HFTokenizer(str(folder), context_length=8, tokenizer_mode=mode)
        lengths = token_lengths(tokenizer, captions)
        assert lengths[:2] == [3 + special] * 2
        assert lengths[2] == 30 * len(tokenizer.tokenizer.tokenize("unbelievably")) + special


@pytest.mark.parametrize("arch", ["tiny", "tiny-two-ways", "tiny-last", "tiny-class"])
def test_padding_is_left_out_only_where_it_is_not_read(arch, tmp_path):
    """Text towers that look both ways, or are read at the end of the context, against open_clip alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = open_clip.create_model(arch).eval()
    with torch.no_grad():
        expected = model.encode_text(open_clip.get_tokenizer(arch)(CAPTIONS), normalize=True).numpy()
    save_file({key: tensor.contiguous() for key, tensor in model.state_dict().items()}, tmp_path / "model.safetensors")
    tower = load_encoder(f"open_clip:{arch}/{tmp_path / 'model.safetensors'}")
    np.testing.assert_allclose(tower.encode_text(CAPTIONS), expected, atol=1e-6)


def test_only_a_tower_that_looks_back_and_is_read_at_its_end_token_skips_padding():
    archs = ["tiny", "tiny-quickgelu", "tiny-two-ways", "tiny-last", "tiny-class", "tiny-tokens"]
    skips = [_skips_padding(open_clip.create_model(arch, force_custom_text=True)) for arch in archs]
    assert skips == [True, True, False, False, False, False]


@pytest.mark.parametrize("quick_gelu", [False, True])
def test_a_tag_gets_the_activation_it_was_trained_with(quick_gelu, file, weights, monkeypatch, caplog):
    tag = {"file": str(file), "quick_gelu": quick_gelu}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny", {"mytag": tag})
    monkeypatch.setattr("huggingface_hub.utils.get_session", _offline)
    tower = load_encoder("open_clip:tiny/mytag")
    np.testing.assert_allclose(tower.encode_text(CAPTIONS), _expected(weights, quick_gelu), atol=1e-6)
    assert not np.allclose(_expected(weights, True), _expected(weights, False), atol=1e-4)
    assert tower.revision.endswith(", QuickGELU" if quick_gelu else ", GELU")
    assert ("trained with QuickGELU" in caplog.text) == quick_gelu


@pytest.mark.parametrize("tag", ["openai", "metaclip_400m", "laion400m_e32", "laion2b_s34b_b79k"])
def test_the_real_tags_of_vit_b_32_are_told_apart(tag, caplog):
    """The weights themselves can't be fetched here; the choice is made before they are."""
    from bindlib.encoders.open_clip import _tag_activation

    told = open_clip.get_pretrained_cfg("ViT-B-32", tag)
    quick_gelu = tag != "laion2b_s34b_b79k"
    assert _tag_activation("ViT-B-32", tag, told) is quick_gelu
    assert ("QuickGELU" in caplog.text) is quick_gelu


def test_the_activation_of_a_file_is_read_from_beside_it(file, weights, caplog):
    beside = file.with_name("open_clip_config.json")
    beside.write_text(json.dumps({"model_cfg": {"quick_gelu": True}}))
    tower = load_encoder(f"open_clip:tiny/{file}")
    np.testing.assert_allclose(tower.encode_text(CAPTIONS), _expected(weights, True), atol=1e-6)
    assert "trained with QuickGELU" in caplog.text
    beside.write_text(json.dumps({"model_cfg": {"quick_gelu": False}}))
    assert "use tiny" in _error(f"open_clip:tiny-quickgelu/{file}")
    beside.write_text("[1")
    assert str(beside) in _error(f"open_clip:tiny/{file}")


def test_the_activation_of_a_file_is_read_from_its_name(file, weights, caplog):
    named = file.rename(file.with_name("ViT-B-32-openai.safetensors"))
    tower = load_encoder(f"open_clip:tiny/{named}")
    np.testing.assert_allclose(tower.encode_text(CAPTIONS), _expected(weights, True), atol=1e-6)
    assert "trained with QuickGELU" in caplog.text


@pytest.mark.parametrize("arch, twin", [("tiny", "tiny-quickgelu"), ("tiny-quickgelu", "tiny")])
def test_a_file_that_says_nothing_is_warned_about(arch, twin, file, weights, caplog):
    tower = load_encoder(f"open_clip:{arch}/{file}")
    np.testing.assert_allclose(tower.encode_text(CAPTIONS), _expected(weights, arch != "tiny"), atol=1e-6)
    assert "does not say its activation" in caplog.text and f"open_clip:{twin}/FILE" in caplog.text


@pytest.mark.parametrize("arch, told", [("tiny-wide", False), ("tiny", True)])
def test_only_an_architecture_that_exists_is_advised(arch, told, file, weights, caplog):
    with suppress(BindlibError):  # the weights fit one of them
        load_encoder(f"open_clip:{arch}/{file}")
    assert "does not say its activation" in caplog.text
    assert ("Weights of the other kind need" in caplog.text) is told


class _Payload:
    def __init__(self, target: Path):
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


def test_numbers_of_numpy_beside_the_weights_are_no_code(weights, tmp_path):
    """As open_clip's training writes them."""
    plain, path = tmp_path / "plain.pt", tmp_path / "model.pt"
    torch.save({"state_dict": weights}, plain)
    numbers = {"loss": np.float64(1.5), "step": np.int64(3), "rate": np.float32(2), "best": np.bool_(True)}
    torch.save({"state_dict": weights} | numbers, path)
    found, expected = (load_encoder(f"open_clip:tiny/{file}") for file in (path, plain))
    np.testing.assert_array_equal(found.encode_text(["one"]), expected.encode_text(["one"]))


def test_pickled_code_is_refused_and_does_not_run(weights, tmp_path):
    target = tmp_path / "it-ran"
    torch.save({"state_dict": weights, "extra": _Payload(target)}, tmp_path / "model.pt")
    assert "pickled code" in _error(f"open_clip:tiny/{tmp_path / 'model.pt'}")
    assert not target.exists()


@pytest.mark.filterwarnings("ignore")
def test_a_torchscript_archive_is_refused(tmp_path):
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), tmp_path / "model.pt")
    assert "pickled code" in _error(f"open_clip:tiny/{tmp_path / 'model.pt'}")


@pytest.mark.parametrize("protocol", [0, 2])
def test_bare_pickled_code_is_refused(protocol, tmp_path):
    (tmp_path / "model.pt").write_bytes(pickle.dumps(_Payload(tmp_path / "it-ran"), protocol=protocol))
    load = _error(f"open_clip:tiny/{tmp_path / 'model.pt'}")
    assert "pickled code" in load or "no checkpoint" in load
    assert not (tmp_path / "it-ran").exists()


def test_torch_s_words_for_pickled_code_are_recognised():
    for words in (
        "Unsupported global: GLOBAL a.b",
        "Trying to load unsupported GLOBAL posix.x whose module is blocked",
    ):
        assert "pickled code" in _load_failure(pickle.UnpicklingError(words), "tiny", Path("model.pt"))


@pytest.mark.parametrize("content", [b"", b"e", b"error\n", b"not weights at all"])
def test_a_file_that_is_no_checkpoint_is_told_in_words(content, tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    assert "the file ends early or is no checkpoint" in _error(f"open_clip:tiny/{path}")


@pytest.mark.parametrize("content", [[1], {}, {"state_dict": 3}, {1: 2}, {"logit_scale": 3}])
def test_a_torch_file_that_holds_no_weights_is_told_in_words(content, tmp_path):
    torch.save(content, tmp_path / "model.pt")
    assert "the file ends early or is no checkpoint" in _error(f"open_clip:tiny/{tmp_path / 'model.pt'}")


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
def test_a_damaged_file_is_named(suffix, tmp_path):
    path = tmp_path / f"model{suffix}"
    path.write_bytes(b"not weights at all")
    message = _error(f"open_clip:tiny/{path}")
    assert str(path) in message and "pickled code" not in message


@pytest.mark.parametrize("arch", ["tiny-wide", "tiny-long"])
def test_weights_of_another_architecture_are_refused(arch, file):
    message = _error(f"open_clip:{arch}/{file}")
    assert str(file) in message and f"do not fit {arch}" in message


def test_a_missing_file_and_an_unknown_architecture_say_what_exists(tmp_path):
    message = _error(f"open_clip:ViT-B-32/{tmp_path / 'none.safetensors'}")
    assert str(tmp_path / "none.safetensors") in message and "openai" in message
    assert "ViT-B-32" in _error("open_clip:ViT-B32/openai")


def test_nan_weights_are_an_error(weights, tmp_path):
    broken = {
        key: torch.full_like(value, float("nan")) if value.is_floating_point() else value
        for key, value in weights.items()
    }
    save_file(broken, tmp_path / "model.safetensors")
    with pytest.raises(BindlibError, match="not finite for 'one'"):
        load_encoder(f"open_clip:tiny/{tmp_path / 'model.safetensors'}").encode_text(["one"])


def _offline(*args, **kwargs):
    raise socket.gaierror("the test has no network")


def test_a_tag_with_no_network_says_what_was_tried(monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(socket, "getaddrinfo", _offline)
    message = _error("open_clip:ViT-B-32/openai")
    for part in ("open_clip:ViT-B-32/openai", "local cache", "timm/vit_base_patch32_clip_224.openai", "local file"):
        assert part in message
    assert constants.HF_HUB_OFFLINE is False


def test_the_random_tower_depends_on_its_seed_alone(encoder):
    torch.manual_seed(7)
    before = torch.get_rng_state()
    again = load_encoder("random-clip:0")
    assert torch.equal(before, torch.get_rng_state())
    first, other = encoder("random-clip:0"), load_encoder("random-clip:1")
    np.testing.assert_array_equal(first.encode_text(CAPTIONS), again.encode_text(CAPTIONS))
    assert not np.allclose(first.encode_text(CAPTIONS), other.encode_text(CAPTIONS), atol=0.1)
    assert first.context_length == 77


def test_the_random_tower_is_that_of_open_clip_read_to_the_full_context(encoder):
    """A whole CLIP with the tower's weights, padding included."""
    config = open_clip.get_model_config("ViT-B-32")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        tower = open_clip.transformer.TextTransformer(**config["text_cfg"], output_dim=config["embed_dim"]).eval()
    with torch.no_grad():
        full = tower(open_clip.tokenize(CAPTIONS)).numpy()
    full /= np.linalg.norm(full, axis=1, keepdims=True)
    np.testing.assert_allclose(encoder("random-clip:0").encode_text(CAPTIONS), full, atol=1e-5)


def test_errors_leave_the_root_logger_quiet_on_stdout(file, capsys):
    logging.getLogger().handlers.clear()
    load_encoder(f"open_clip:tiny/{file}").encode_text(CAPTIONS)
    assert capsys.readouterr().out == ""
