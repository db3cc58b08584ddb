"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import TracebackType

from geodp.errors import OutputError
from geodp.publish.request import NOTHING_DONE


class Staging:
    """Partial files beside their targets, opened before anything is charged and renamed when all are written.

    The last target appears last and, when it is replaced, goes first: it is never there without the others.
    """

    def __init__(self, targets: list[Path], *, force: bool) -> None:
        self.targets = targets
        self.force = force
        self._partial = {path: path.with_name(f".{path.name}.{os.getpid()}.partial") for path in targets}

    def __enter__(self) -> Staging:
        for target, partial in self._partial.items():
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                partial.write_bytes(b"")  # a place that cannot be written to is found before anything is charged
            except OSError as error:
                self._clear()
                raise OutputError(f"{target}: cannot be written ({error.strerror or error}). {NOTHING_DONE}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()

    def partial(self, target: Path) -> Path:
        """Return the file to write instead of a target."""
        return self._partial[target]

    def commit(self) -> None:
        """Give all files their names."""
        *others, last = self.targets
        if not self.force and any(target.exists() for target in self.targets):
            raise OutputError(f"{last} has appeared in the meantime and is not replaced.")
        for partial in self._partial.values():
            with partial.open("r+b") as file:
                os.fsync(file.fileno())
        last.unlink(missing_ok=True)
        for target in [*others, last]:
            self._partial[target].replace(target)

    def _clear(self) -> None:
        for partial in self._partial.values():
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
