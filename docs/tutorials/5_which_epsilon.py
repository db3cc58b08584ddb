# %% [markdown]
# # 5. Which ε?
#
# A smaller ε protects more and costs more. How much more, and in what? This tutorial finds the smallest ε whose price is
# small, and looks at what an adversary finds at each.
#
# ## The wrong question
#
# "The smallest ε with a success rate of 0.9" has no answer: a server that knows less asks more people, so success *rises*
# with noise. geodp refuses it:

# %%
# !geodp new downtown

# %%
import geodp

small = {"workers.source.count": 1500, "duration_s": 1800, "curator.budget.epsilon": 30}
try:
    geodp.advise("downtown.yaml", "success_rate>=0.9", overrides=small, seeds=2)
except geodp.GeodpError as refused:
    print(refused)

# %% [markdown]
# ## The right one: what does ε cost, at equal success?
#
# For each ε the server's target is moved until its expected success is 0.9, on the same worlds and the same luck as exact
# counts. The price is how many more people are asked. (A small city and a coarse search, to be quick.)

# %%
advice = geodp.advise_within("downtown.yaml", 0.25, out="advice", low=0.05, high=2.0, precision=0.9, overrides=small)
print(f"ε = {advice.answer.value:g} is enough" if advice.answer else "no ε of the range is within")
advice.plot()

# %% [markdown]
# The line is the price with its interval; dotted is what we said we would pay. People asked is half of the price: look at
# how far the winner travels, too.

# %%
for tried in advice.tried:
    print(
        f"ε = {tried.value:<5.2g} {tried.ratio.value:.2f} times the workers of exact counts ({tried.ratio.low:.2f} to {tried.ratio.high:.2f})"
    )

# %% [markdown]
# ## What does an adversary find?
#
# ε bounds what *any* adversary can find about one release. What one particular adversary does find can be tried. `bayes_location`
# knows the releases and where people usually are, and guesses each person's place; the error of somebody who has seen no release
# stands beside it.

# %%
from pathlib import Path

_ = Path("finds.yaml").write_text("""
geodp: 1
name: finds
about: Workers asked, metres travelled, and what an adversary finds, for each ε.
base: downtown.yaml
seeds: {first: 0, count: 2}
grids:
  - curator.mechanism.epsilon: [0.05, 0.2, 1.0, 5.0]
    curator.budget.epsilon: [30]
    attacks: [[{kind: bayes_location}]]
    workers.source.count: [1500]
    duration_s: [1800]
""")
sweep = geodp.sweep("finds.yaml", "finds")
columns = ["notified_workers", "travel_distance_m", "attack_error_m", "prior_error_m", "epsilon_spent"]
sweep.table.groupby("curator.mechanism.epsilon")[columns].mean().round(1)

# %%
sweep.plot("curator.mechanism.epsilon", "travel_distance_m")

# %% [markdown]
# Counts of a crowd hardly help to find one person among 1,500, at any ε: the adversary stays near the blind guess. That is no
# licence for a large ε. The guarantee is about the worst case (one worker in an empty quarter, an adversary who knows
# everybody else), and this adversary is one of many.
#
# ## Over a day
#
# One release is not the whole story: k releases cost k·ε. `check` says what a run comes to. Ten minutes or an hour between
# releases is a factor of six:

# %%
# !geodp check downtown.yaml --set curator.release_every_s=3600

# %% [markdown]
# ## Next
#
# - [Choose ε](../how-to/choose-epsilon.md) from the command line, resumable.
# - [Which mechanism, which assignment, which ε?](../explanation/choosing.md)
# - [Guarantees and their units](../explanation/guarantees.md).
