"""Figures that the source paper reports and this book quotes: facts with their place, never typed in prose.

Nothing here was measured by us.  Source: K. I. Lo, "The Limits of Binding in Dual Encoders", 2026.
"""

from dataclasses import dataclass

from bindlib.errors import BindlibError


@dataclass(frozen=True, repr=False)
class Reported:
    """A figure as printed, where it is printed, and what it is."""

    text: str
    where: str
    meaning: str

    @property
    def number(self) -> float:
        """The figure as a number; raises ``BindlibError`` for what the paper says in words."""
        try:
            return float(self.text)
        except ValueError:
            raise BindlibError(f"the paper gives no number here, but says {self.text!r}") from None

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__  # what a live notebook shows of it


REPORTED = {
    "usage_low": Reported("25", "Abstract", "percent of its ceiling at which every measured model sits, lower end"),
    "usage_high": Reported("35", "Abstract", "percent of its ceiling at which every measured model sits, upper end"),
    "clip_b32_delta": Reported("0.112", "Figure 11", "smoothness of CLIP B/32"),
    "clip_b32_cap_of_mean": Reported("0.947", "Figure 11", "cap at the mean smoothness of CLIP B/32"),
    "clip_b32_mean_cap": Reported("0.936", "Figure 11", "mean of per-quartet caps of CLIP B/32"),
    # The throttle, Figure 15.
    "throttle_noise": Reported("0.6", "Figure 15", "image noise of the verification toy"),
    "throttle_average_slope": Reported("0.290", "Figure 15", "gap of the average: matched difference minus offset"),
    "throttle_average_recovered": Reported("0.476", "Figure 15", "matched constant of the average, recovered"),
    "throttle_average": Reported("0.477", "Figure 15", "matched constant of the average, predicted"),
    "throttle_reversal_slope": Reported("1.261", "Figure 15", "gap of the reversal: matched difference minus offset"),
    "throttle_reversal_recovered": Reported("1.943", "Figure 15", "matched constant of the reversal, recovered"),
    "throttle_reversal": Reported("1.949", "Figure 15", "matched constant of the reversal, predicted"),
    "throttle_error": Reported("0.005", "Figure 15", "Monte-Carlo error of the recovered constants"),
    "throttle_low_noise": Reported("0.25", "Figure 15", "the smaller image noise"),
    "throttle_low_average_recovered": Reported("0.5445", "Figure 15", "average, recovered, at the smaller noise"),
    "throttle_low_average": Reported("0.5460", "Figure 15", "average, predicted, at the smaller noise"),
    "throttle_low_reversal_recovered": Reported("1.9455", "Figure 15", "reversal, recovered, at the smaller noise"),
    "throttle_low_reversal": Reported("1.9511", "Figure 15", "reversal, predicted, at the smaller noise"),
    # The depth law, Figure 2.
    "depth_products_within": Reported("0.014", "Figure 2", "how far products m b^D are from 2 at most, N = 65,536"),
    "depth_floor": Reported("10", "Figure 2", "noise floor of the resolvable depth, times sqrt(N)"),
    # Margins of pooled codes, Figure 10.
    "pooled_scenes": Reported("300", "Figure 10", "scenes for each scene size, N = 4096, M = K = 40"),
    # Radon, Figure 7.
    "radon_dim": Reported("2", "Figure 7", "dimension of the smallest instance of the Radon impossibility"),
    "radon_objects": Reported("4", "Figure 7", "objects of the smallest instance of the Radon impossibility"),
    # Measured with weights and images that are not at hand here.
    "models": Reported("18", "Abstract", "deployed text encoders measured"),
    "clip_b32_usage": Reported("25", "Figure 11", "percent of its cap at which CLIP B/32 sits"),
    "subset_correlation": Reported("0.99", "Abstract", "correlation of SugarCrepe subset difficulty and ceiling"),
    "sugarcrepe_models": Reported("14", "Figure 12", "dual encoders run on SugarCrepe"),
    "sugarcrepe_decisions": Reported("66598", "Figure 12", "decisions of these encoders"),
    "errors_below_median": Reported("73", "Figure 12", "percent of all errors below the median ceiling"),
    "low_decile_accuracy": Reported("near chance", "Figure 12", "accuracy in the lowest deciles of the ceiling"),
    "subset_order": Reported("swaps hardest", "Figure 12", "pooled accuracy of the subsets, ordered as mean ceilings"),
    "negclip": Reported("larger d, cap nearly the same", "Figure 3", "NegCLIP, the one model that leaves the wedge"),
    "top_decile_accuracy": Reported("0.93", "Figure 12", "accuracy in the highest decile of the ceiling"),
}


def reported(key: str) -> Reported:
    """The reported figure named ``key``; prints as the paper prints it.  Raises ``BindlibError`` for an unknown key."""
    if key not in REPORTED:
        raise BindlibError(f"no reported figure is named {key!r}; there are {', '.join(REPORTED)}")
    return REPORTED[key]
