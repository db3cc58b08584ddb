# %% [markdown]
# # 6. Read an audit and an attack
#
# An **audit** tries to refute a *promise*: it looks for inputs and outputs that the promise forbids. An **attack** tries to
# find *people*. A mechanism may survive the one and do badly at the other; read both.
#
# ## An audit
#
# `contour` claims ε = 0.3 about one worker's position in one release:

# %%
# !geodp audit contour --samples 20000

# %% [markdown]
# Line by line:
#
# - **claimed**: what the guarantee says, at the pair of inputs that was looked at;
# - **certified**: with 95 % confidence ε is *at least* this, from samples of both inputs. It approaches the claim as samples
#   grow, and may not pass it;
# - **verdict**: *not refuted at N = …*; never "private";
# - **followed**: the release was run on both inputs with a noise that writes down every question; what the questions cost adds
#   up to the claim, and everything else that came out was the same;
# - **raw bits**: simulated doubles can be told apart by their last bits. That is why simulated noise is never published.
#
# ## A promise that is broken
#
# A phone that reports its place with planar noise promises ε *per metre*:

# %%
# !geodp audit planar_laplace --set epsilon_per_m=0.01 --samples 20000

# %% [markdown]
# Now the same phone as somebody might program it who adds noise to both axes, each with the full ε. It looks alike. On the diagonal
# it spends √2 times as much:

# %%
# %%writefile both_axes.py
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.device import Device
from geodp.geometry import Array, Region
from geodp.privacy.noise import Noise, as_noise
from geodp.privacy.primitives import with_geometric
from geodp.public.guarantee import Guarantee


class BothAxes(Device):
    """Moves each axis by geometric steps, as if the other were not there.

    Guarantee
    ---------
    Claims ε per metre for one report, and does not keep it on the diagonal.
    """

    kind: ClassVar[str] = "both_axes"
    releases: ClassVar[frozenset[str]] = frozenset({"points"})

    epsilon_per_m: float = Field(default=0.01, gt=0)
    """ε per metre that it claims."""
    cell_m: float = Field(default=1.0, gt=0)
    """Side of the grid, metres."""

    def report(
        self,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        *,
        rng: np.random.Generator | Noise,
        region: Region | None = None,
    ) -> tuple[Array, Array]:
        x, y = (self._moved(place, as_noise(rng)) for place in (x_m, y_m))
        return (x, y) if region is None else region.clamp(x, y)

    def _moved(self, place: npt.ArrayLike, noise: Noise) -> Array:
        column = np.rint(np.asarray(place) / self.cell_m).astype(np.int64)
        steps = 1 / (self.epsilon_per_m * self.cell_m)  # √2 is missing here
        return self.cell_m * with_geometric(column, steps, noise).astype(np.float64)

    def guarantee(self, region: Region | None = None) -> Guarantee:
        return Guarantee.per_metre(self.epsilon_per_m, extra_m=2 * self.cell_m)


# %%
# !geodp audit both_axes --plugin both_axes.py --samples 20000

# %% [markdown]
# **Refuted**, and the pair that did it is named. (The command's exit code is 1, so that a pipeline stops.)
#
# ## Attacks
#
# Two adversaries try everybody in a run without a trusted party: phones report by themselves, every ten minutes.
# `bayes_location` takes each report by itself; `tracking` takes all reports of a person together, with how people move.

# %%
from pathlib import Path

import geodp

_ = Path("phones.yaml").write_text("""
geodp: 1
name: phones
about: Nobody is trusted. What do two adversaries find?
region: {west: -122.5135, south: 37.7113, east: -122.3627, north: 37.8327}
duration_s: 3600
workers:
  source: {kind: synthetic_city, count: 800}
  mobility: {kind: commuter}
tasks:
  demand: {kind: poisson, per_hour: 60}
device:
  mechanism: {kind: planar_laplace, epsilon_per_m: 0.005}
curator: null
server:
  assignment: {kind: nearest_report}
attacks: [{kind: bayes_location}, {kind: tracking}]
""")
run = geodp.run("phones.yaml", "phones")
for name in ["prior_error_m", "attack_error_m", "tracking_error_m", "attack_hit_rate", "tracking_hit_rate"]:
    print(
        f"{name:20} {run.metrics[name]:8.2f}  ({run.metrics[name + '_low']:.2f} to {run.metrics[name + '_high']:.2f})"
    )

# %% [markdown]
# - `prior_error_m`: the guess of somebody who has seen nothing. Everything else is to be held against it.
# - `attack_error_m`: one report brings the adversary much nearer. The mean noise of a report is 2/ε = 400 m.
# - `tracking_error_m`: several reports of a moving person, nearer still. Reports add up; so does what they cost:

# %%
print(run.metrics["epsilon_per_m_spent"])
run.ledger[["time_s", "unit", "mechanism", "epsilon", "total"]].tail(2)

# %% [markdown]
# ## The same, with a trusted curator
#
# Counts of everyone, ε = 0.3 per release; the same people:

# %%
trusted = geodp.run(
    "phones.yaml",
    "trusted",
    overrides={
        "device.mechanism": {"kind": "none"},
        "curator": {"mechanism": {"kind": "adaptive_grid", "epsilon": 0.3}},
        "server.assignment": {"kind": "geocast"},
    },
)
print(f"prior {trusted.metrics['prior_error_m']:.0f} m, attack {trusted.metrics['attack_error_m']:.0f} m")

# %% [markdown]
# Noisy counts tell hardly more about single people than nothing at all. What an attack finds is no bound on what others may find,
# though: the guarantee is.
#
# ## What the protocol gives away
#
# All of it together (releases, offers, outcomes, identities, times) as an audit that makes no claim:

# %%
# !geodp audit --run trusted --view server --samples 1000

# %% [markdown]
# ## Next
#
# - [Audit your own mechanism](../how-to/audit-a-mechanism.md), and [how the auditor works](../contributing.md#the-auditor).
# - [Write an attack](../contributing.md#an-attack).
# - [What the protocol gives away](../explanation/protocol.md).
