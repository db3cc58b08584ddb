"""Speed and size, measured: `python -m tests.benchmarks [NAME …] --json FILE`.

Every file here whose name does not begin with `_` is a benchmark: its function `measure` yields figures. A yardstick is
measured beside what it is compared with, in the same process, so that ratios hold on a busy machine too. Times are CPU
seconds unless a figure says otherwise.

`history/` keeps the figures of every release, one file each, made by `--json tests/benchmarks/history/VERSION.json`;
`--compare` prints what moved. 0.1.0 was never released: its figures were measured later, beside those of 0.2.0 and on
the same machine, from its last commit; both files hold the benchmarks that take a minute at most.
"""
