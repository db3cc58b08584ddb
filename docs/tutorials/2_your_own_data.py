# %% [markdown]
# # 2. Your own data
#
# Two ways to use geodp on people of your own: put a GeoDataFrame through a **mechanism**, or let your people be the
# **workers of a scenario**. First some people. We make them up; replace this cell by `geopandas.read_file("yours.gpkg")`.

# %%
import geopandas
import numpy as np
import pandas as pd

luck = np.random.default_rng(7)
n = 3000
centre = luck.choice(3, n, p=[0.5, 0.3, 0.2])
lon = np.array([-122.42, -122.45, -122.40])[centre] + luck.normal(0, 0.012, n)
lat = np.array([37.785, 37.755, 37.740])[centre] + luck.normal(0, 0.009, n)
people = geopandas.GeoDataFrame(
    {"worker": [f"w{i:04}" for i in range(n)]}, geometry=geopandas.points_from_xy(lon, lat), crs=4326
)
people.head(3)

# %% [markdown]
# ## Through a mechanism, in five lines
#
# The **region** is public: the city's box, not the box of your data, which would give away whoever stands at its edge.
# `noise=1` is a seed, for noise that repeats; such noise is for trying things out and is never to be published.

# %%
import geodp

box = (-122.52, 37.70, -122.35, 37.84)
release = geodp.mechanism("adaptive_grid", epsilon=0.5).release(people, region=box, expected_workers=3000, noise=1)
print(release.guarantee.sentence())
cells = release.to_geodataframe()
release.explore()

# %% [markdown]
# `cells` is a GeoDataFrame in EPSG:4326 with a polygon per cell and its noisy count. How good is it? We have the truth here,
# which a reader of the release has not:

# %%
true = cells.sindex.query(people.geometry, predicate="within")[1]
cells["true"] = np.bincount(true, minlength=len(cells))
cells["error"] = cells["count"] - cells["true"]
print(f"{len(cells)} cells, {cells['count'].sum():.0f} people released, {cells['true'].sum()} true")
print(f"mean absolute error of a cell: {cells['error'].abs().mean():.1f} people")

# %% [markdown]
# Other mechanisms take the same arguments; [here they all are](../reference/plugins/mechanism.md).

# %%
for kind in ["uniform_grid", "adaptive_grid", "privtree", "quadtree", "contour"]:
    made = geodp.mechanism(kind, epsilon=0.5).release(people, region=box, expected_workers=3000, noise=1)
    print(f"{kind:15} {len(made.to_geodataframe()):6} cells   {made.guarantee.unit}, ε = {made.guarantee.epsilon}")

# %% [markdown]
# ## As the workers of a scenario
#
# Save them as a table, and name it. How many there are is private, so the scenario states a public estimate.

# %%
from pathlib import Path

pd.DataFrame({"worker": people["worker"], "lon": lon, "lat": lat}).to_csv("people.csv", index=False)
_ = Path("mine.yaml").write_text("""
geodp: 1
name: mine
about: Tasks for my own people, from an adaptive grid alone.
region: {west: -122.52, south: 37.70, east: -122.35, north: 37.84}
duration_s: 3600
workers:
  source: {kind: table, path: people.csv}
tasks:
  demand: {kind: poisson, per_hour: 300}
curator:
  expected_workers: 3000
  mechanism: {kind: adaptive_grid, epsilon: 0.3}
server:
  assignment: {kind: geocast, target_success: 0.9}
""")

# %% [markdown]
# `check` lists every mistake at once. Here it finds none, and says what is promised and what it costs:

# %%
# !geodp check mine.yaml

# %%
run = geodp.run("mine.yaml", "mine")
print(
    f"{run.metrics['success_rate']:.1%} of the tasks were taken; {run.metrics['notified_workers']:.1f} people asked for each"
)
run.map()

# %% [markdown]
# What became of the tasks, as a GeoDataFrame. This is the truth, which never reaches the server:

# %%
run.tasks[["arrived_s", "outcome", "travel_m", "geometry"]].head()

# %% [markdown]
# ## Next
#
# - Visits and trajectories, and the formats of published data sets: [data formats](../how-to/data-formats.md).
# - [Choose a region and a cap](../how-to/region-and-cap.md) without looking at the data.
# - [Your own mechanism against five others](3_your_own_mechanism.md).
