# SPDX-License-Identifier: Apache-2.0
"""Fills the options of the library from keywords. Their words, defaults and values are those of the program."""

from __future__ import annotations

import operator
import re
from typing import Any

from bandmill._call import LOG, Call
from bandmill._data import Source
from bandmill._errors import Error, text_of
from bandmill._native import ffi, lib
from bandmill._option_rows import FILLED

_MOST = {"uint32": 0xFFFFFFFF, "uint64": 2**64 - 1}
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def word(option: int, value: str, field: str) -> int:
    """Return the number of a word that is a value of an option. Raises Error if there is no such word."""
    out = ffi.new("unsigned *")
    data = str(value).encode("utf-8", "replace")
    if lib.bm_option_value(option, data, len(data), out):
        return int(out[0])
    words, i = [], 0
    while (known := lib.bm_option_name(option, i)) != ffi.NULL:
        words.append(bytes(ffi.string(known)).decode())
        i += 1
    raise Error(f"{field} {value!r} ({', '.join(w for w in words if w)})", field=field)


def verified(name: str) -> int:
    """Handle "exact" for signatures without inputs: they cannot be compared exactly, so the library decides."""
    return int(lib.BM_VERIFY_AUTO) if name == "exact" else word(lib.BM_OPTION_VERIFY, name, "verify")


def size(value: int | str | None, field: str = "memory") -> int:
    """Return the number of bytes that "512M", "4G" or "4GiB" means. A number is a number of bytes; None is 0."""
    if value is None:
        return 0
    bytes_, found = None, None
    if isinstance(value, str):
        found = re.fullmatch(r"([0-9]+)([KMGT]?)(i?B)?", value.strip().upper().replace("IB", "B"))
        bytes_ = int(found[1]) * _UNITS[found[2]] if found else None
    elif not isinstance(value, bool) and hasattr(value, "__index__"):
        bytes_ = operator.index(value)
    if bytes_ is None or not 0 <= bytes_ < 1 << 64:
        raise Error(f'{field} {value!r} (a size, "512M" or "4G", or a whole number of bytes)', field=field)
    return bytes_


_BY_HAND = {"header", "verify", "shard", "hash", "scheme", "unit"}  # keywords with functions of their own below
# Keywords about how a record is read, also in memory.
OF_RECORDS = tuple(k for k, part, _, _ in FILLED if part == "input" and k not in ("format", "header"))


def _value(value: Any, how: str, keyword: str, least: int) -> Any:
    if how == "flag":
        return bool(value)
    if how == "share":
        return share(value, keyword)
    if how == "size":
        return size(value, keyword)
    if how in _MOST:
        return number(value, keyword, _MOST[how], least)
    return word(getattr(lib, f"BM_OPTION_{how}"), value, keyword)


def fill_part(o: Any, part: str | None, k: dict[str, Any]) -> None:
    """Fill the members of the part ``part`` of a call's options from the keywords; None: the call's own members. Keywords that
    are None are skipped.
    """
    members = (
        {name for name, kind in ffi.typeof(o).item.fields if kind.type.kind in ("primitive", "enum")} if part is None else ()
    )
    for keyword, of, member, how in FILLED:
        if keyword in _BY_HAND or k.get(keyword) is None or not (of == part or member in members):
            continue
        least = 1 if how == "uint32" and keyword != "seed" else 0
        setattr(o, member, _value(k[keyword], how, keyword, least))


def fill_text(o: Any, call: Call, k: dict[str, Any]) -> None:
    """Fill bm_text_options, except the hash."""
    if k.get("normalize") is not None:
        names = k["normalize"]
        names = names.split(",") if isinstance(names, str) else list(names) if hasattr(names, "__iter__") else [str(names)]
        o.normalize = 0
        for name in names:
            if name.strip() not in ("none", ""):
                o.normalize |= 1 << word(lib.BM_OPTION_NORMALIZE, name.strip(), "normalize")
    if k.get("shingle") is not None:
        found = re.fullmatch(r"([^:]*):([0-9]+)", str(k["shingle"]))
        if not found:
            raise Error(f"shingle {k['shingle']!r} (word:5, char:9, byte:20 …)", field="shingle")
        o.shingle = word(lib.BM_OPTION_SHINGLE, found[1], "shingle")
        o.shingle_k = min(int(found[2]), 0xFFFFFFFF)
    if k.get("stopwords") is not None:
        o.stopwords = call.text(k["stopwords"], "stopwords")
    fill_part(o, "text", k)


def fill_sketch(o: Any, k: dict[str, Any]) -> None:
    """Fill bm_sketch_options. With weights, the default scheme is cws."""
    fill_part(o, "sketch", k)
    scheme = k.get("scheme") or ("cws" if k.get("weights") is not None else None)
    if scheme is not None:
        o.scheme = word(lib.BM_OPTION_SCHEME, scheme, "scheme")
        if k.get("seed") is None:
            o.seed = lib.bm_scheme_seed(o.scheme)


def fill_preset(k: dict[str, Any]) -> None:
    """Set the keywords of a preset that were not given, by the rules of the program (src/cli/presets.c)."""
    name = k.get("preset")
    if name is None:
        return
    presets = {text_of(p.name): p for p in (lib.cli_presets[i] for i in range(lib.CLI_N_PRESETS))}
    if name not in presets:
        raise Error(f"preset {name!r} ({', '.join(presets)})", field="preset")
    p = presets[name]
    LOG.info("preset %s: %s", name, text_of(p.note))
    own: dict[str, Any] = {"perms": p.perms}
    if p.shingle_k:
        steps = [_word_of(lib.BM_OPTION_NORMALIZE, i) for i in range(32) if p.normalize >> i & 1]
        shingle = f"{_word_of(lib.BM_OPTION_SHINGLE, p.shingle)}:{p.shingle_k}"
        own.update(shingle=shingle, words=_word_of(lib.BM_OPTION_WORDS, p.words), normalize=steps)
    scheme = _word_of(lib.BM_OPTION_SCHEME, p.scheme)
    if k.get("scheme") in (None, scheme):  # another scheme has its own hash and seed
        own.update(scheme=scheme, hash=_word_of(lib.BM_OPTION_HASH, p.hash))
        own["seed"] = lib.bm_scheme_seed(p.scheme)
    by_hand = k.get("bands") is not None or k.get("rows") is not None
    if p.threshold and not by_hand:
        own["threshold"] = p.threshold
    if p.bands and k.get("recall") is None and (by_hand or p.bands * p.rows <= (k.get("perms") or p.perms)):
        own.update(bands=p.bands, rows=p.rows)
    k.update({field: value for field, value in own.items() if field in k and k[field] is None})


def _word_of(option: int, value: int) -> str:
    return text_of(lib.bm_option_name(option, value))


def fill_hash(text: Any, sketch: Any, k: dict[str, Any]) -> None:
    """Set the hash of a shingle: the requested one, or the default of the scheme."""
    asked = k.get("hash")
    text.hash = word(lib.BM_OPTION_HASH, asked, "hash") if asked is not None else lib.bm_scheme_hash(sketch.scheme)


def number(value: Any, field: str, most: int = 0xFFFFFFFF, least: int = 0) -> int:
    """Return a whole number in ``least`` to ``most``, of any integer type or as text. A fraction is refused."""
    try:
        found = int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        found = None
    if found is None or isinstance(value, bool) or not least <= found <= most:
        raise Error(f"{field} {value!r} (a whole number from {least} to {most})", field=field)
    return found


def share(value: Any, field: str) -> float:
    """Return a threshold or a similar number. The library checks its range."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise Error(f"{field} {value!r} (a number from 0 to 1)", field=field) from None


def fill_bands(o: Any, k: dict[str, Any]) -> None:
    """bm_band_options."""
    fill_part(o, "bands", k)


def fill_input(o: Any, call: Call, source: Source, k: dict[str, Any]) -> None:
    """Fill in bm_input_options: what is read, and how."""
    source.fill(o, call, k.get("temp_dir"))
    text, given = k.get("text"), k.get("id")
    if source.is_texts and not isinstance(text, (str, list, tuple, type(None))):
        raise Error(f"text {text!r} (the name of a field or column; options are keywords, such as threshold=0.8)", field="text")
    if text is not None and not source.is_texts:
        fields = [text] if isinstance(text, str) else list(text) if hasattr(text, "__iter__") else [text]
        if not fields:
            raise Error("no text field (one, or several)", field="text_fields")
        if fields != ["text"]:  # the default is not passed on, because signatures may have another field
            o.text_fields = call.texts(fields, "text")
            o.n_text_fields = len(fields)
    if given is not None:
        o.id_field = call.text(given, "id", "the name of a field or column")
    _fill_files(o, call, source, k)
    fill_part(o, "input", k)


def _fill_files(o: Any, call: Call, source: Source, k: dict[str, Any]) -> None:
    """Set which files are read, and how their rows are split."""
    given = {name: k[name] for name in ("header", "delimiter", "include", "exclude", "offsets") if k.get(name) is not None}
    if given and source.stream is not None:
        raise Error(f"{next(iter(given))} is for what is read from files", field=next(iter(given)))
    if "header" in given:
        o.header = word(lib.BM_OPTION_HEADER, given["header"], "header")
    if "delimiter" in given:
        one = given["delimiter"]
        if not isinstance(one, str) or len(one) != 1 or not "\0" < one < "\x80":
            raise Error(f"delimiter {one!r} (a character of ASCII)", field="delimiter")
        o.delimiter = one.encode()
    for name in ("include", "exclude"):
        if name in given:
            patterns = [given[name]] if isinstance(given[name], str) else list(given[name])
            setattr(o.patterns, name, call.texts(patterns, name))
            setattr(o.patterns, f"n_{name}", len(patterns))
    o.offsets_path = call.text(given.get("offsets"), "offsets")


def fill_against(o: Any, call: Call, k: dict[str, Any]) -> None:
    """Set the fields of the documents with which others are compared."""
    fields = k["against_text"] or []
    fields = [fields] if isinstance(fields, str) else list(fields)
    o.against_text_fields, o.n_against_text_fields = call.texts(fields, "against_text"), len(fields)
    o.against_id_field = call.text(k["against_id"], "against_id")


def fill_unit(o: Any, call: Call, k: dict[str, Any]) -> None:
    """Set the parts of documents to compare: "line", "paragraph", "span" or "span:K"; None: documents are compared."""
    o.set_fields |= lib.BM_FIELD_THRESHOLD if k["threshold"] is not None else 0  # with a unit, the default is 1
    o.within = call.text(k["within"], "within", "the name of a field or column")
    if k["unit"] is None:
        return
    found = re.fullmatch(r"([a-z]+)(?::([0-9]+))?", str(k["unit"]))
    if not found or (found[2] is not None and found[1] != "span"):
        raise Error(f"unit {k['unit']!r} (line, paragraph, span or span:K)", field="unit")
    o.unit = word(lib.BM_OPTION_UNIT, found[1], "unit")
    o.span_k = 0 if found[2] is None else number(found[2], "unit", least=1)


def fill_shard(o: Any, k: dict[str, Any]) -> None:
    """Set the share I of N of the inputs, from "I/N"."""
    if k.get("shard") is None:
        return
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", str(k["shard"]))
    if not found:
        raise Error(f"shard {k['shard']!r} (I/N, such as 2/7)", field="shard")
    o.shard, o.n_shards = (number(n, "shard", least=1) for n in found.groups())


def fill_device(o: Any, call: Call, k: dict[str, Any]) -> None:
    """Fill bm_device_options. ``device`` None means "auto"; without the keyword, the device is the CPU."""
    device = k.get("device", "cpu")
    o.device = call.text("auto" if device is None else device, "device", "a str: cpu, gpu, or part of a name")
    o.cpu = call.text(k.get("cpu"), "cpu")


def fill_resources(o: Any, call: Call, k: dict[str, Any]) -> None:
    """Fill bm_resource_options."""
    o.threads = number(k.get("threads") or 0, "threads")
    o.memory = size(k.get("memory"))
    o.temp_dir = call.text(k.get("temp_dir"), "temp_dir")
    o.batch_docs = number(k.get("batch_docs") or 0, "batch_docs")


def fill(o: Any, call: Call, source: Source | None, k: dict[str, Any]) -> None:
    """Fill every part that a call's options have."""
    fill_preset(k)
    parts = {name for name, _ in ffi.typeof(o[0]).fields}
    if "input" in parts and source is not None:
        fill_input(o.input, call, source, k)
    if "text" in parts:
        fill_text(o.text, call, k)
    if "sketch" in parts:
        fill_sketch(o.sketch, k)
    if "text" in parts and "sketch" in parts:
        fill_hash(o.text, o.sketch, k)
    if "bands" in parts and ffi.typeof(o[0].bands).kind == "struct":
        fill_bands(o.bands, k)
    fill_part(o, None, k)
    if "device" in parts:
        fill_device(o.device, call, k)
    if "resources" in parts:
        fill_resources(o.resources, call, k)
    if "callbacks" in parts:
        call.callbacks(o.callbacks)


def new(kind: str) -> Any:
    """Make a struct of options with its defaults."""
    o = ffi.new(f"bm_{kind}_options *")
    getattr(lib, f"bm_{kind}_options_init_sized")(o, ffi.sizeof(o[0]))
    return o
