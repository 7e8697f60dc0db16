"""What a reader can move in a figure: one specification, for the page and for the live notebook."""

from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

Value = float | int | str | bool


@dataclass(frozen=True)
class Control:
    """A control of a figure: its ``name`` is the signal that expressions and readouts use, its ``label`` has the unit.

    A range has ``low``, ``high`` and ``step``; a select has ``options``, which may be shown as ``labels``.
    """

    name: str
    label: str
    kind: Literal["range", "select", "checkbox"]
    value: Value
    low: float = 0.0
    high: float = 1.0
    step: float = 1.0
    options: tuple[Value, ...] = ()
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, param: dict[str, Any]) -> "Control":
        """The control of a bound Vega-Lite parameter; ``ValueError`` for another kind of input."""
        bind, named = param["bind"], {"name": param["name"], "value": param["value"]}
        named["label"] = bind.get("name", param["name"])
        match bind["input"]:
            case "range":
                return cls(kind="range", low=bind["min"], high=bind["max"], step=bind["step"], **named)
            case "select":
                options = tuple(bind["options"])
                return cls(
                    kind="select", options=options, labels=tuple(bind.get("labels") or map(str, options)), **named
                )
            case "checkbox":
                return cls(kind="checkbox", **named)
        raise ValueError(f"a figure has sliders, lists and boxes, not {bind['input']!r}")

    def stops(self) -> list[Value]:
        """Both ends and the middle of a range, rounded to its steps; every option of a list; both states of a box."""
        if self.kind == "checkbox":
            return [False, True]
        if self.kind == "select":
            return list(self.options)
        steps = round((self.high - self.low) / self.step)
        return [self.at(i) for i in (0, steps // 2, steps)]

    def at(self, i: int) -> float | int:
        """The value of a range after ``i`` steps, without the rounding noise of repeated addition."""
        value = round(self.low + i * self.step, 10)
        return int(value) if value == int(value) else value


def slider(name: str, label: str, low: float, high: float, step: float, value: float, unit: str = "") -> alt.Parameter:
    """A bound range input."""
    shown = f"{label}, {unit}" if unit else label
    return alt.param(name=name, value=value, bind=alt.binding_range(min=low, max=high, step=step, name=shown))


def choice(name: str, label: str, options: dict[str, Value] | list[str], value: Value) -> alt.Parameter:
    """A bound list; ``options`` are texts, or a dict from the text shown to the signal's value."""
    labelled = isinstance(options, dict)
    values = list(options.values()) if labelled else list(options)
    bind = (
        alt.binding_select(options=values, labels=list(options), name=label)
        if labelled
        else alt.binding_select(options=values, name=label)
    )
    return alt.param(name=name, value=value, bind=bind)


def box(name: str, label: str, value: bool = False) -> alt.Parameter:
    """A bound checkbox."""
    return alt.param(name=name, value=value, bind=alt.binding_checkbox(name=label))
