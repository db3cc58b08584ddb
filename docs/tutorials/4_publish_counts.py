# %% [markdown]
# # 4. Publish counts and flows for a regulator
#
# A chain of places wants to publish how many different people visited each of them last month, and has to show a regulator
# that nobody's record can be read off. We make the data up (3,000 people, 150 places) and publish in four steps: look, decide,
# publish, show.

# %%
# !geodp datasets make --out made --people 3000 --visits 8 --venues 150 --as csv --seed 3

# %%
import pandas as pd

visits, venues = pd.read_csv("made/visits.csv"), pd.read_csv("made/venues.csv")
visits.head(3)

# %% [markdown]
# ## Decide what is public
#
# Three things are given, and must not come from the data:
#
# - the **list of places**: the chain's own list, all of it, visited or not;
# - the **cap**: how many places of one person count at most. We say 10, because few customers go to more of our places in a
#   month; *not* because we looked;
# - **ε**, for a person's whole record: 1.
#
# The holder, and nobody else, may look at what a publication would leave out:

# %%
# !geodp check-data made/visits.csv --venues made/venues.csv

# %% [markdown]
# ## Publish
#
# First as a simulation: seeded noise, stamped *not releasable*, with everything else as in earnest.

# %%
import geodp

made = geodp.publish.counts(
    visits, venues=venues, epsilon=1, cap=10, seed=0, out="counts.csv", ledger="ledger.json", budget=2
)
print(made.guarantee.sentence())
made.table.head()

# %% [markdown]
# ## How far off is it?
#
# A tenth of ε was spent on measuring that, people beyond the cap included. Where the data are too few to measure it, the statement
# says so, and what is likely; and it names methods that would be nearer.

# %%
print(made.accuracy.text)

# %% [markdown]
# We hold the truth, so we can look whether that is so:

# %%
true = visits.drop_duplicates(["user", "venue"]).groupby("venue").size().reindex(venues["venue"], fill_value=0)
released = made.table.set_index("venue")["count"]
print(f"mean absolute error: {(released - true).abs().mean():.1f} people; a place has {true.mean():.0f} on average")

# %% [markdown]
# Other methods, other errors. Places with many visitors each, as here, gain little from being grouped; the statement was right
# about `laplace_counts`. `dpsense` finds its own cap, privately. (Every line below is a publication about the same people: for
# real data each would cost.)

# %%
for method, cap in {"grouping_smoothing": 10, "dpsense": None, "laplace_counts": 10, "uniform": 10}.items():
    other = geodp.publish.counts(
        visits, venues=venues, epsilon=1, cap=cap, seed=0, method=method, ledger=f"try-{method}.json"
    )
    error = (other.table.set_index("venue")["count"] - true).abs().mean()
    print(f"{method:20} {error:6.1f} people")

# %%
made.map()

# %% [markdown]
# ## Show
#
# Beside the table stands a statement for the regulator: promise, settings, public inputs, what was charged, checksum.

# %%
import json

statement = json.load(open("counts.csv.guarantee.json"))
{key: statement[key] for key in ["mode", "releasable", "mechanism", "sentence", "charged", "public_inputs", "sha256"]}

# %% [markdown]
# The ledger belongs to the people in the data. It has a budget of 2, and 1 is spent. A half more fits; another 1 is refused,
# before any noise is drawn:

# %%
geodp.publish.counts(visits, venues=venues, epsilon=0.5, cap=10, seed=1, ledger="ledger.json")
try:
    geodp.publish.counts(visits, venues=venues, epsilon=1, cap=10, seed=2, ledger="ledger.json")
except geodp.GeodpError as refused:
    print(refused)

# %% [markdown]
# And the whole command can be audited: neighbouring files, a person more or less, go through it, and every byte that comes out
# is compared. (*Not followed* would mean that only samples were looked at, for that pair of files.)

# %%
# !geodp audit --publish counts:laplace_counts --files 2 --samples 500

# %% [markdown]
# ## Flows
#
# An operator of phones has no visits but pings, and is asked where people are, hour by hour, and where they go. Zones, days and the
# clock are public. What stays hidden here is one person's day; another day is another charge. We make 30,000 pings up:

# %%
# !geodp datasets make --pings 30000 --people 400 --days 2 --out town

# %%
import geopandas

pings, zones = pd.read_parquet("town/pings.parquet"), geopandas.read_parquet("town/zones.geoparquet")
report = geodp.publish.flows(
    pings, zones=zones, zone="zone", first="2024-03-04", last="2024-03-05", epsilon=1, delta=1e-6, out="flows"
)
print(report.guarantee.sentence())
print(report.accuracy)

# %% [markdown]
# So few people drown in noise by the hour; a column says so of every number. By the day, and for the whole city, there is
# something to read:

# %%
report.footfall.groupby(["period", "level"])["reliable"].mean().unstack().round(2)

# %% [markdown]
# `flows/report.html` is what a council reads: the same numbers in words, with a map. The whole command has an auditor, too:
# `geodp audit --publish flows`. The same as two commands, from a csv to the report: the [how-to](../how-to/publish-flows.md).

# %%
report.map()

# %% [markdown]
# ## In earnest
#
# ```text
# pip install 'geodp[release]'
# geodp publish counts visits.csv --venues venues.csv --epsilon 1 --cap 10 --mode release --ledger people.json --budget 2 --out counts.csv
# ```
#
# No seed, exact noise of OpenDP, a ledger that must be named, and not a word about single rows. Next: [keep a
# ledger](../how-to/keep-a-ledger.md), [noise modes](../explanation/noise.md), [guarantees and their
# units](../explanation/guarantees.md), [publish footfall and flows](../how-to/publish-flows.md).
