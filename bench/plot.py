"""The picture of docs/performance.md: how costs grow."""

from collections.abc import Sequence
from pathlib import Path

from bench.scale import Growth

PICTURE = Path(__file__).resolve().parents[1] / "docs/growth.svg"


def draw(growths: Sequence[Growth]) -> None:
    """Draw every step's median over the size of what grows, both logarithmic."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "sow"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    for growth in growths:
        milliseconds = [median * 1000 for median in growth.medians]
        axes.plot(growth.sizes, milliseconds, marker="o", label=f"{growth.what} ({growth.of})")
    axes.set(xscale="log", yscale="log", xlabel="how many", ylabel="median, ms")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(0, -0.12), ncols=1, frameon=False)
    figure.savefig(PICTURE, bbox_inches="tight", metadata={"Date": None})
