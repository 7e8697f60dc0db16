"""A score played from binding to reversed, ``S_w = (1 - w) S + w S^rev``: its margin is ``(1 - 2w) M``."""

from statistics import NormalDist

import altair as alt
import numpy as np

from bindlib.book.controls import slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, GREY, INK, VERMILION
from bindlib.explorers.drawing import ONE, data
from bindlib.explorers.live import Live
from bindlib.theory.throttle_toy import expected_logistic_loss

SHARES = tuple(round(0.05 * i, 2) for i in range(21))
NOISES = tuple(round(0.1 * i, 1) for i in range(16))


def losses(share: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """``E ℓ`` of ``S_w`` against the swap and against an unrelated caption, for shares ``w`` ``(n,)``; each ``(n,)``.

    Orthonormal codes and scenes that share no atom, as in `limit_constants`: the contrasts are
    ``N(2 (1 - 2w), 4 noise² (1 - 2w)²)`` and ``N(2 (1 - w), 4 noise² ((1 - w)² + w²))``.
    """
    share = np.asarray(share, dtype=np.float64)
    own, kept = 1 - 2 * share, 1 - share
    matched = expected_logistic_loss(2 * own, 2 * noise * np.abs(own))
    return matched, expected_logistic_loss(2 * kept, 2 * noise * np.hypot(kept, share))


def computed(share: float, rate: float, noise: float) -> dict[str, float]:
    """The readouts of `chart`, from the Gram matrix of the four codes that the contrasts weigh."""
    scores = np.array([(1 - w, w) for w in SHARES])  # of S(c) and S(σc) in S_w(c)
    swapped = np.hstack([scores - scores[:, ::-1], np.zeros_like(scores)])
    contrasts = np.stack([swapped, np.hstack([scores, -scores])])
    gram = 2 * np.eye(4)  # of t(c), t(σc), t(c'), t(σc')
    sd = noise * np.sqrt(np.einsum("kwi,ij,kwj->kw", contrasts, gram, contrasts))
    matched, unmatched = expected_logistic_loss(contrasts @ gram[0], sd)
    loss = dict(zip(SHARES, (rate * matched + (1 - rate) * unmatched).tolist(), strict=True))
    binds = NormalDist().cdf(1 / noise) if noise else 1.0
    return {
        "share": share,
        "margin": 2 * (1 - 2 * share),
        "accuracy": 0.5 if share == 0.5 else binds if share < 0.5 else 1 - binds,
        "loss": loss[share],
        "rise": loss[share] - loss[0.0],
        "lowest": min(loss, key=loss.get),
    }


def widget() -> Live:
    """The figure of `chart` with a kernel behind it."""
    return Live(chart())


def _tables() -> list[alt.Parameter]:
    """Both losses by noise and share, from quadrature, for the page to look up."""
    found = [losses(SHARES, noise) for noise in NOISES]
    return [
        alt.param(name=name, value=[[float(f"{loss:.12g}") for loss in both[i]] for both in found])
        for i, name in enumerate(("against_swap", "against_other"))
    ]


def chart() -> Figure:
    """The loss at rate π along the way from binding to reversed, and where it turns.

    Signals: ``share`` (w), ``rate`` (π), ``noise``, ``margin`` (its mean), ``accuracy`` (share of images that score
    their caption above its swap), ``loss``, ``rise`` (above binding), ``lowest`` (the share of least loss).
    """
    at = "rate * against_swap[row][{0}] + (1 - rate) * against_other[row][{0}]"
    params = [
        slider("share", "share w of the reversal", 0, 1, 0.05, 0),
        slider("rate", "swap rate π", 0, 1, 0.01, 0.05),
        slider("noise", "image noise", 0, NOISES[-1], 0.1, 0.6),
        *_tables(),
        alt.param(name="row", expr="round(noise / 0.1)"),
        alt.param(name="along", expr=f"[{', '.join(at.format(i) for i in range(len(SHARES)))}]"),
        alt.param(name="margin", expr="2 * (1 - 2 * share)"),
        alt.param(name="binds", expr="noise ? cumulativeNormal(1 / noise, 0, 1) : 1"),
        alt.param(name="accuracy", expr="share == 0.5 ? 0.5 : share < 0.5 ? binds : 1 - binds"),
        alt.param(name="loss", expr="along[round(share / 0.05)]"),
        alt.param(name="rise", expr="loss - along[0]"),
        alt.param(name="lowest", expr="indexof(along, extent(along)[0]) / 20"),
    ]
    x = alt.X("share:Q", title="share w of the reversal: binding at 0, blind at 1/2, reversed at 1",
              scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="~g", tickCount=5))  # fmt: skip
    y = alt.Y("loss:Q", title="loss, nats", scale=alt.Scale(domain=[0, 2.7]))
    curve = alt.Chart(data({"share": w, "i": i} for i, w in enumerate(SHARES)))
    here, turn = (
        alt.Chart(ONE).transform_calculate(share=place, loss=loss)
        for place, loss in (("share", "loss"), ("lowest", "extent(along)[0]"))
    )
    layers = [alt.Chart(data([{"share": 0.5}])).mark_rule(color=GREY, strokeDash=[3, 3]).encode(x)]
    for loss, name, dy in (("against_other", "π = 0", 30), ("against_swap", "π = 1", -10)):
        lines = curve.transform_calculate(loss=f"{loss}[row][datum.i]")
        layers.append(
            lines.mark_line(color=GREY, strokeWidth=1.5, strokeDash=[6, 4], interpolate="monotone").encode(x, y)
        )
        end = lines.transform_filter(f"datum.i == {len(SHARES) - 1}")
        layers.append(end.mark_text(color=INK, align="right", dx=-6, dy=dy).encode(x, y, text=alt.value(name)))
    layers.append(
        curve.transform_calculate(loss="along[datum.i]").mark_line(color=BLUE, interpolate="monotone").encode(x, y)
    )
    layers.append(turn.mark_point(color=GREEN, shape="triangle-up", size=120, opacity=1, yOffset=9).encode(x, y))
    layers.append(here.mark_point(color=VERMILION, size=120, opacity=1).encode(x, y))
    ends = losses((0, 0.5, 1), 0.6)
    names = ("binding", "blind", "reversed")
    return Figure(
        alt.layer(*layers).add_params(*params).properties(height=320),
        alt="The loss against the share of the reversal in the score, a smooth curve between two dashed ones for swap "
        "rates zero and one. It has no step at one half, where the sign of every margin turns. A triangle below the "
        "curve marks its lowest point.",
        readouts=(
            Readout("loss", "loss at rate π, nats"),
            Readout("rise", "above the binding score, nats"),
            Readout("margin", "mean margin", ".2f"),
            Readout("accuracy", "caption above its swap, share of images", ".3f"),
            Readout("lowest", "the loss is lowest at w", ".2f"),
        ),
        prompt="Before you move it: play the score from binding to reversed. At one half all margins change their "
        "sign. Does the loss show it? And can it ever pay to mix some of the reversal in?",
        answer="It does not: the loss passes one half without a step or a corner, and at a small π the climb is mostly "
        "the offset's. Mixing pays at every π once the noise is above 1: the score is then louder than its evidence, "
        "and a smaller margin loses less.",
        computed=computed,
        table=tuple(
            {"score": name, "share w": w, "loss at π = 0": float(other), "loss at π = 1": float(own)}
            for name, w, own, other in zip(names, (0.0, 0.5, 1.0), *ends, strict=True)
        ),
    )
