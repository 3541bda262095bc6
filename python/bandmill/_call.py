# SPDX-License-Identifier: Apache-2.0
"""A call of the library: the memory of its options, its callbacks, and how it is interrupted."""

from __future__ import annotations

import json
import logging
import os
from typing import Any, Callable, TypeVar

from bandmill import _tables  # noqa: F401  # tells the library what reads tables
from bandmill._apart import apart, owned
from bandmill._errors import Error, error_of, text_of
from bandmill._native import ffi, lib

T = TypeVar("T")
LOG = logging.getLogger("bandmill")
_LEVELS = {
    lib.BM_LOG_ERROR: logging.ERROR,
    lib.BM_LOG_WARNING: logging.WARNING,
    lib.BM_LOG_INFO: logging.INFO,
    lib.BM_LOG_DEBUG: logging.DEBUG,
}
OK, NOT_FOUND = lib.BM_OK, lib.BM_NOT_FOUND


@ffi.def_extern()  # type: ignore[untyped-decorator]
def bm_py_log(ctx: Any, level: int, message: Any) -> None:
    """Pass on a line of a job's log."""
    call = ffi.from_handle(ffi.cast("struct bm_py_cancel *", ctx).python)
    LOG.log(_LEVELS.get(level, logging.INFO), "%s%s", call.about, text_of(message))


@ffi.def_extern()  # type: ignore[untyped-decorator]
def bm_py_progress(ctx: Any, progress: Any) -> None:
    """Pass progress on to the bar or function of the call. An exception ends the job."""
    call = ffi.from_handle(ffi.cast("struct bm_py_cancel *", ctx).python)
    if call.show is None or call.failed is not None:
        return
    try:
        stage, unit = text_of(progress.stage), text_of(progress.unit)
        if isinstance(call.show, Bar) and progress.n_stages:
            left = progress.job_left_s
            call.show.of_job(stage, progress.job_done, f"{left:.0f} s left" if left >= 0 else f"{progress.done:,} {unit}")
        else:
            call.show(stage, progress.done, progress.total, unit)
    except BaseException as e:
        call.failed, call.ctx.stop = e, 1


@ffi.def_extern(error=1)  # type: ignore[untyped-decorator]
def bm_py_write(ctx: Any, data: Any, size: int) -> int:
    """Receive rows of a job that writes no file."""
    ffi.from_handle(ffi.cast("struct bm_py_cancel *", ctx).python).rows.append(bytes(ffi.buffer(data, size)))
    return 0


class Bar:
    """A progress bar of tqdm, or nothing if tqdm is not installed. If the job has a plan, the bar shows percent and the time
    left.
    """

    def __init__(self) -> None:
        """Look for tqdm."""
        try:
            from tqdm.auto import tqdm
        except ImportError:
            tqdm = None
            LOG.warning("progress=True needs tqdm to show a bar (pip install tqdm), or a function to call")
        self._make, self._stage = tqdm, ""
        self._bar: Any = None

    def __call__(self, stage: str, done: int, total: int, unit: str) -> None:
        """Receive progress; this is the callback."""
        if self._make is None:
            return
        if stage != self._stage:
            self.close()
            self._bar = self._make(total=total or None, desc=stage, unit=unit, unit_scale=True, leave=False)
            self._stage = stage
        if self._bar is not None:
            self._bar.n, self._bar.total = done, total or None
            self._bar.refresh()

    def of_job(self, stage: str, share: float, more: str) -> None:
        """Show the share of the job that is done, and the words ``more``: the time left or, if this is not known, a count."""
        if self._make is None:
            return
        if self._bar is None:
            self._bar = self._make(total=1.0, bar_format="{desc}: {percentage:3.0f}%|{bar}|{postfix}", leave=False)
        self._bar.set_description_str(stage, refresh=False)
        self._bar.set_postfix_str(more, refresh=False)
        self._bar.n = share
        self._bar.refresh()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class Call:
    """Keeps alive the memory that C borrows, and runs a call so that Ctrl-C can interrupt it."""

    def __init__(self, progress: bool | Callable[[str, int, int, str], None] = False) -> None:
        """``progress``: True for a bar, False for nothing, or a function of (stage, done, total, unit)."""
        self.show = Bar() if progress is True else progress or None
        if self.show is not None and not callable(self.show):
            raise Error(f"progress {progress!r} (True, False, or a function of stage, done, total and unit)", field="progress")
        self.about = ""  # a prefix for each line of the log
        self.failed: BaseException | None = None  # the exception that ``progress`` raised; it ends the call
        self.rows: list[bytes] = []
        self.afterwards: Callable[[], None] = lambda: None
        self._alive: list[Any] = []
        self._handle = ffi.new_handle(self)
        self.ctx = ffi.new("struct bm_py_cancel *", {"python": self._handle, "stop": 0})
        self._stop = int(ffi.cast("uintptr_t", ffi.addressof(self.ctx[0], "stop")))

    def keep(self, thing: Any) -> Any:
        """Keep ``thing`` alive as long as the call, and return it."""
        self._alive.append(thing)
        return thing

    def text(self, value: str | bytes | os.PathLike[str] | None, field: str = "option", what: str = "a str or a path") -> Any:
        """Return a C string, or NULL for None. ``field``: the keyword of this text, for messages."""
        if value is None:
            return ffi.NULL
        if not isinstance(value, (str, bytes, os.PathLike)):
            raise Error(f"{field} of type {type(value).__name__} ({what})", field=field)
        try:
            data = os.fsencode(value)
        except UnicodeEncodeError:
            raise Error(f"{field} {value!r}: a lone surrogate is no character", field=field) from None
        if b"\0" in data:
            raise Error("a text with a NUL byte in it (the option takes none)")
        return self.keep(ffi.new("char[]", data))

    def texts(self, values: list[Any], field: str = "option") -> Any:
        """Return an array of C strings."""
        return self.keep(ffi.new("char *[]", [self.text(v, field) for v in values] or [ffi.NULL]))

    def callbacks(self, callbacks: Any) -> None:
        """Fill bm_callbacks."""
        callbacks.ctx = self.ctx
        callbacks.cancelled = lib.bm_py_cancelled
        callbacks.log = lib.bm_py_log
        if self.show is not None:
            callbacks.progress = lib.bm_py_progress

    def apart(self, work: Callable[[], T]) -> T:
        """Run ``work`` so that no signal interrupts it, and return its result. Ctrl-C ends the jobs in ``work`` early."""
        return apart(work, self._stop)

    def run(self, function: Callable[..., int], *args: Any, also: tuple[int, ...] = ()) -> int:
        """Make the call. Returns its status, which is OK or one of ``also``. Raises Error, or KeyboardInterrupt."""
        err = ffi.new("bm_error *")
        status = self.apart(lambda: self._do(function, *args, err))
        if status != OK and status not in also:
            raise error_of(err)
        return status

    def _do(self, function: Callable[..., int], *args: Any) -> int:
        try:
            if self.ctx.stop:
                raise Error("cancelled", "cancelled")
            status = function(*args)
        finally:
            self.afterwards()
            if isinstance(self.show, Bar):
                self.show.close()
        if self.failed is not None:
            failed, self.failed, self.ctx.stop = self.failed, None, 0
            raise failed
        return status

    def job(self, function: Callable[..., int], o: Any, also: tuple[int, ...] = ()) -> dict[str, Any]:
        """Run a job of the library, and return its report; {} if a status of ``also`` came without a summary."""
        out = owned("summary")
        self.run(function, o, out, also=also)
        words = lib.bm_summary_json(out[0])
        report: dict[str, Any] = json.loads(text_of(words)) if words != ffi.NULL else {}
        return report
