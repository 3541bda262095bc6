# SPDX-License-Identifier: Apache-2.0
"""Makes the signature and the docstring of each call from the rows of its keywords."""

from __future__ import annotations

import difflib
import functools
import inspect
from typing import Any, Callable, TypeVar, cast

from bandmill import _kinds, _option_rows
from bandmill._option_rows import DEFAULTS, FIELDS, KEYWORDS, LINES, OWN

# The names that keywords have in other libraries or in the program.
_ELSEWHERE = {
    "text": ("text_field", "text_column", "text_key", "column", "field"),
    "id": ("id_column", "ids", "index_column"),
    "perms": ("num_perm", "n_perm", "num_hashes", "num_permutations", "permutations"),
    "threads": ("n_jobs", "num_proc", "num_workers", "workers", "processes"),
    "shingle": ("ngram", "ngrams", "ngram_size", "n_gram", "shingle_size"),
    "threshold": ("similarity", "jaccard", "jaccard_threshold", "similarity_threshold", "min_similarity"),
    "output": ("out", "out_dir", "output_dir", "output_path", "save_path"),
    "force": ("overwrite",),
    "progress": ("verbose", "show_progress", "tqdm"),
    "paths": ("path", "files", "input", "inputs", "data_files"),
    "device": ("gpu", "cuda"),
    "normalize": ("lower", "lowercase"),
    "seed": ("random_state", "random_seed"),
    "batch_docs": ("batch_size",),
}

# Keywords that bandmill.distributed uses, and that no signature shows: similarities with all their digits, and a prefix for
# each line of the log.
_UNSHOWN = {"decimals", "about"}

F = TypeVar("F", bound=Callable[..., Any])


def _no_keyword(function: Callable[..., Any], name: str, known: list[str]) -> TypeError:
    """Make the error for a keyword ``name`` that ``function`` does not have. It suggests the keyword that was probably
    meant.
    """
    meant = [keyword for keyword, others in _ELSEWHERE.items() if name in (*others, FIELDS.get(keyword)) and keyword in known]
    meant = meant or difflib.get_close_matches(name, known, 1)
    hint = f" (here it is {meant[0]}=)" if meant else ""
    return TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of ``function``, with its keywords in place of **options."""
    own = inspect.signature(function)
    rows, name = KEYWORDS[function.__qualname__].__annotations__, function.__qualname__
    keywords = [
        inspect.Parameter(
            keyword,
            inspect.Parameter.KEYWORD_ONLY,
            default=DEFAULTS.get((name, keyword)),
            annotation=getattr(kind, "__forward_arg__", kind),
        )
        for keyword, kind in rows.items()
    ]
    plain = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    return own.replace(parameters=[*plain, *keywords])


@functools.cache
def _resolved(kind: str) -> Any:
    """Return the type with this name, independent of the caller's names. If this Python cannot make it, return the text."""
    try:
        return eval(kind, {"Any": Any, **vars(_kinds), **vars(_option_rows)})
    except TypeError:  # int | None fails before Python 3.10
        return kind


def described(function: F) -> F:
    """Give ``function`` keywords with defaults in place of **options, and a line about each in its docstring.

    If a caller passes an unknown keyword, the error suggests the keyword that was probably meant.
    """
    signature = _signature(function)
    known, name = signature.parameters, function.__qualname__
    lines = ["", "", "Keywords:"]
    for keyword, parameter in known.items():
        if keyword in ("self", "cls"):
            continue
        default = parameter.default
        usual = "" if default in (None, inspect.Parameter.empty) else f" ({default!r})"
        lines.append(f"    {keyword}: {OWN.get((name, keyword), LINES[keyword])}{usual}")
    function.__doc__ = (inspect.getdoc(function) or "") + "\n".join(lines) + "\n"
    defaults = {k: p.default for k, p in known.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}

    @functools.wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in known and name not in _UNSHOWN:
                raise _no_keyword(function, name, list(known))
        return function(*args, **{**defaults, **keywords})

    cast(Any, checked).__signature__ = signature
    own = {k: of for k, of in function.__annotations__.items() if k in known or k == "return"}
    checked.__annotations__ = {**own, **{k: _resolved(known[k].annotation) for k in defaults}}
    return cast(F, checked)
