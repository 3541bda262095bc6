# SPDX-License-Identifier: Apache-2.0
"""Progress for a person at a shell or notebook: how far a job is, and a line about what it found."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

EACH = 0.5  # seconds between two checks of the stages
WIDTH = 78


def wanted(progress: bool | None) -> bool:
    """Return whether to show progress. None: in an interactive shell and in a notebook, as Spark's own bar."""
    if progress is not None:
        return progress
    ipython = sys.modules.get("IPython")
    return hasattr(sys, "ps1") or (ipython is not None and ipython.get_ipython() is not None)


def tasks_of(tracker: Any) -> str | None:
    """Return a text: how many tasks of the running stages are done. None: no stage is running."""
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    done, n = (sum(getattr(s, name) for s in stages if s is not None) for name in ("numCompletedTasks", "numTasks"))
    return f"{done:,} of {n:,} tasks" if n else None


@contextlib.contextmanager
def shown(context: Any, what: str, on: bool) -> Iterator[list[str]]:
    """Show a line about the tasks of ``context``, if it is a SparkContext and not None. Yields a list; at the end its first
    text, if there is one, is shown. ``on`` False: nothing is shown.
    """
    ended, said = threading.Event(), list[str]()

    def look() -> None:
        while not ended.wait(EACH):
            with contextlib.suppress(Exception):  # the context may stop meanwhile; the job reports that
                words = tasks_of(context.statusTracker())
                if words is not None:
                    print(f"\r{f'{what}: {words}':{WIDTH}}", end="", file=sys.stderr, flush=True)

    thread = threading.Thread(target=look, daemon=True) if on and context is not None else None
    if thread is not None:
        thread.start()
    try:
        yield said
    finally:
        ended.set()
        if thread is not None:
            thread.join()
        if on and said:
            print(f"\r{f'{what}: {said[0]}':{WIDTH}}", file=sys.stderr, flush=True)
