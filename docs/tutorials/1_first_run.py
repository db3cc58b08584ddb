# %% [markdown]
# # 1. Your first run
#
# Workers with phones move through a city. A *trusted* phone operator, the **curator**, publishes noisy views of where they
# are. An *untrusted* **server** has tasks to give away and knows nothing but those views. How many people must it ask until
# somebody comes, and what does it learn about them?
#
# `quickstart` is a scenario that geodp ships: 10,000 workers, two hours, about 600 tasks, and a contour plot of the density
# of workers every ten minutes.

# %%
import geodp

run = geodp.run("quickstart", "first")
print(run.path)

# %% [markdown]
# A run is a folder. These are some of its numbers; every one comes with a 95 % interval (`…_low`, `…_high`).

# %%
for name in ["success_rate", "notified_workers", "travel_distance_m", "epsilon_spent"]:
    low, high = run.metrics.get(f"{name}_low"), run.metrics.get(f"{name}_high")
    print(f"{name:20} {run.metrics[name]:8.2f}", "" if low is None else f"({low:.2f} to {high:.2f})")

# %% [markdown]
# Nine of ten tasks were taken, and about five people were asked for each. Here is the map. Press play: the released density
# is renewed every ten minutes, tasks appear and are taken.

# %%
run.map()

# %% [markdown]
# ## What was released
#
# A release is what crosses from the curator to the server. It states what it promises:

# %%
release = run.releases[0]
print(release.guarantee.sentence())

# %% [markdown]
# and it is data: counts of cells with Laplace noise, which geopandas and QGIS open as they are. Counts may be negative;
# that is noise, too, and cutting it off would bias what the server computes from it.

# %%
cells = release.to_geodataframe()
cells.head()

# %% [markdown]
# ## What it cost
#
# Every release about the same people costs again. The ledger is asked *before* noise is drawn, and refuses what is not left:

# %%
run.ledger[["time_s", "mechanism", "epsilon", "total"]].tail(3)

# %% [markdown]
# Twelve releases of ε = 0.3 make 3.6 for each person. Odds may change by a factor of e^3.6 = 37: that is no strong promise. Let us
# ask for a stronger one, a tenth of it, on the same people, the same tasks and the same luck:

# %%
strong = geodp.run("quickstart", "strong", overrides={"curator.mechanism.epsilon": 0.03, "curator.budget.epsilon": 0.4})
for name in ["success_rate", "notified_workers", "travel_distance_m", "epsilon_spent"]:
    print(f"{name:20} {run.metrics[name]:8.2f}  {strong.metrics[name]:8.2f}")

# %% [markdown]
# The server succeeds as often, and asks about as many. But with a blurred picture its circles are wider, and whoever takes
# a task travels further. *That* is the price, and it may be well worth paying: [tutorial 5](5_which_epsilon.md) looks for the
# point where it is not.
#
# ## What the protocol gives away
#
# One number is left. No ε covers what *outcomes* tell: that nobody took a task says something about those who were asked.
# geodp measures it, for the average person and the worst-off, in nats:

# %%
print(f"{run.metrics['interaction_leakage_mean']:.2f} on average, {run.metrics['interaction_leakage_max']:.2f} at most")

# %% [markdown]
# ## Next
#
# - `first/summary.md` tells all of this in words.
# - [Your own data](2_your_own_data.md).
# - [What the protocol gives away](../explanation/protocol.md).
