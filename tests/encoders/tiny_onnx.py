"""Small ONNX graphs, written as the bytes of their protocol buffers: there is no other use for a library that does."""

import numpy as np

INT64, FLOAT = 7, 1  # element types


def _varint(n: int) -> bytes:
    return bytes([n]) if n < 128 else bytes([n % 128 + 128]) + _varint(n // 128)


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _fields(number: int, values) -> bytes:
    return b"".join(_field(number, value) for value in values)


def _value(name: str, element: int, dims: tuple[int | str, ...]) -> bytes:
    shape = _fields(1, [_field(1 if isinstance(dim, int) else 2, dim) for dim in dims])
    return _field(1, name) + _field(2, _field(1, _field(1, element) + _field(2, shape)))


def _tensor(name: str, array: np.ndarray, file: str = "") -> bytes:
    """The values lie in the tensor, or in ``file`` beside the graph."""
    element = FLOAT if array.dtype == np.float32 else INT64
    told = _fields(1, array.shape) + _field(2, element) + _field(8, name)
    if file:
        return told + _field(13, _field(1, "location") + _field(2, file)) + _field(14, 1)
    return told + _field(9, array.tobytes())


def _node(operator: str, inputs: list[str], output: str, **attributes: int) -> bytes:
    told = [_field(1, name) + _field(3, value) + _field(20, 2) for name, value in attributes.items()]
    return _fields(1, inputs) + _field(2, output) + _field(4, operator) + _fields(5, told)


def graph(nodes: list[bytes], inputs: dict, outputs: dict, constants: dict[str, np.ndarray], file: str = "") -> bytes:
    """A model; ``inputs`` and ``outputs`` map names to an element type and dimensions; ``file``: the first constant."""
    parts = _fields(1, nodes) + _field(2, "tiny")
    parts += _fields(5, [_tensor(name, array, "" if i else file) for i, (name, array) in enumerate(constants.items())])
    parts += _fields(11, [_value(name, *told) for name, told in inputs.items()])
    parts += _fields(12, [_value(name, *told) for name, told in outputs.items()])
    return _field(1, 8) + _field(7, parts) + _field(8, _field(1, "") + _field(2, 18))


TEXT = {name: (INT64, ("n", "tokens")) for name in ("input_ids", "attention_mask")}


def encoder(table: np.ndarray, outputs: tuple[str, ...], inputs: dict = TEXT, file: str = "") -> bytes:
    """A table of token vectors ``(words, dim)`` float32, which lies in ``file`` beside the graph if one is named.

    The output ``last_hidden_state`` is the rows of the tokens, any other their mean, padding included.
    """
    tokens, dim = "last_hidden_state", table.shape[1]
    nodes = [_node("Gather", ["table", "input_ids"], tokens)]
    nodes += [_node("ReduceMean", [tokens, "axes"], name, keepdims=0) for name in outputs if name != tokens]
    told = {name: (FLOAT, ("n", "tokens", dim) if name == tokens else ("n", dim)) for name in outputs}
    return graph(nodes, inputs, told, {"table": table, "axes": np.array([1])}, file)
