# SPDX-License-Identifier: Apache-2.0
"""Types of values that several keywords take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Callable, Literal, Union

Names = Union[str, Sequence[str], None]
Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path], None]
Progress = Union[bool, Callable[[str, int, int, str], None]]
Size = Union[int, str, None]

Preset = Literal["datasketch", "datatrove", "nemo", "text-dedup", "lance", "slimpajama", "SEDD"]
