"""What the tests of the explorers share: a figure's signals, as Vega computes them."""

import re

import pytest
import vl_convert


@pytest.fixture(scope="session")
def signals():
    """``signals(figure, names, **values)``: the signals called ``names``, as text, with controls set to ``values``."""

    def said(figure, names, **values):
        free = [{k: v for k, v in param.items() if k != "bind"} for param in figure.spec()["params"]]
        params = [p | {"value": values[p["name"]]} if p["name"] in values else p for p in free]
        texts = [{"calculate": f"'«{name}»' + {name} + '«»'", "as": "v"} for name in names]
        shown = [{"transform": [text], "mark": "text", "encoding": {"text": {"field": "v"}}} for text in texts]
        spec = {"$schema": figure.spec()["$schema"], "params": params, "data": {"values": [{}]}, "layer": shown}
        return dict(re.findall(r"«(\w+)»(.*?)«»", vl_convert.vegalite_to_svg(spec)))

    return said
