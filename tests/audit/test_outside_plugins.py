"""Plug-ins outside the package that have only what their base class demands: the examples of CONTRIBUTING.md, audited.

Faults are planted in the text of an example, as somebody might write it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_contributing import EXAMPLES

SOUND = "laplace_counts(counts, epsilon=self.epsilon, sensitivity=change, noise=noise)"
FAULTS = {
    "Lap(0.001) where 1/0.3 is claimed": "laplace_counts(counts, epsilon=1000.0, sensitivity=1, noise=noise)",
    "Lap(0.001) that nobody can follow": "counts + noise.laplace(0.001, counts.size)",
    "Lap(0.001) of its own": "counts + np.random.default_rng().laplace(0.0, 0.001, counts.size)",
    "no noise": "counts.astype(float)",
    "noise where somebody is": f"np.where(counts > 0, {SOUND}, 0.0)",
    "own noise but in a corner": "counts + np.random.default_rng().laplace(0.0, 9.0, 64) * (np.arange(64) != 7)",
}


def audit(folder: Path, name: str, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Audit a plug-in file as a user would."""
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    line = ["audit", name, "--plugin", f"{name}.py", "--samples", "2000", *words]
    return subprocess.run(
        [sys.executable, "-m", "geodp", *line], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", ["coarse_grid", "last_places", "axis_noise"])
def test_an_example_passes_as_it_stands(name: str, tmp_path: Path) -> None:
    done = audit(tmp_path, name, EXAMPLES[name])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not refuted" in done.stdout
    assert "asked of the data, question by question" in done.stdout
    assert "not followed" not in done.stdout


@pytest.mark.parametrize("fault", FAULTS)
def test_an_example_with_a_fault_is_refuted(fault: str, tmp_path: Path) -> None:
    assert SOUND in EXAMPLES["coarse_grid"]
    done = audit(tmp_path, "coarse_grid", EXAMPLES["coarse_grid"].replace(SOUND, FAULTS[fault]), "--sampled-only")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "verdict    refuted" in done.stdout


APART = {
    "asked for by itself": "counts + noise.laplace(change / self.epsilon, counts.size)",
    "drawn on zeros and added later": SOUND.replace("(counts,", "(np.zeros(counts.size),") + " + counts",
    "of its own generator": "counts + np.random.default_rng().laplace(0.0, change / self.epsilon, counts.size)",
}


@pytest.mark.parametrize("how", APART)
def test_sound_noise_that_nobody_can_follow_is_a_finding(how: str, tmp_path: Path) -> None:
    text = EXAMPLES["coarse_grid"].replace(SOUND, APART[how])
    done = audit(tmp_path, "coarse_grid", text)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "not followed" in done.stdout
    assert "verdict    not refuted" in done.stdout
    assert audit(tmp_path, "coarse_grid", text, "--sampled-only").returncode == 0


def test_a_release_that_always_fails_was_not_audited_and_samples_do_not_excuse_it(tmp_path: Path) -> None:
    text = EXAMPLES["coarse_grid"].replace(SOUND, "1 / 0")
    done = audit(tmp_path, "coarse_grid", text, "--sampled-only")
    assert done.returncode == 1, done.stdout
    assert "division by zero" in done.stdout


def test_a_phone_that_draws_from_a_generator_is_sampled(tmp_path: Path) -> None:
    """Noise of a generator, on either axis: nobody can follow it; samples refute it where it is too narrow."""
    text = """
from geodp.device import Device
from geodp.public.guarantee import Guarantee

class OwnNoise(Device):
    \"\"\"Reports with noise of a generator.\"\"\"

    kind = "own_noise"
    scale_m: float = SCALE
    \"\"\"Scale of the noise on either axis, metres.\"\"\"

    def report(self, x_m, y_m, *, rng, region=None):
        return x_m + rng.laplace(0.0, self.scale_m, len(x_m)), y_m + rng.laplace(0.0, self.scale_m, len(y_m))

    def guarantee(self, region=None):
        return Guarantee.per_metre(0.02)
"""
    sound = audit(tmp_path, "own_noise", text.replace("SCALE", "150.0"))
    assert sound.returncode == 1, sound.stdout + sound.stderr
    assert "not followed" in sound.stdout
    assert "verdict    not refuted" in sound.stdout
    narrow = audit(tmp_path, "own_noise", text.replace("SCALE", "5.0"), "--sampled-only")
    assert narrow.returncode == 1, narrow.stdout + narrow.stderr
    assert "verdict    refuted" in narrow.stdout
