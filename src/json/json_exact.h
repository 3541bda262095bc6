/* SPDX-License-Identifier: Apache-2.0 */
/* json_exact.h -- a strict RFC 8259 parser.
 *
 * The parser takes one JSON text, and extracts fields by dotted paths. If the text is broken, it
 * reports exactly where and why. A text may have bytes that are not UTF-8: inside strings, each
 * maximal invalid subpart and each unpaired surrogate escape becomes U+FFFD. In the requested
 * fields these are counted. A number may have any size. Nesting is limited to BM_JSON_DEPTH_MAX, as
 * the RFC allows.
 *
 * The parser does not recurse. A level of nesting takes a bit, and no stack frame. One thread at a
 * time. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_JSON_DEPTH_MAX 1024u

/* A dotted path, split at its dots. Each part names a member of the object that the parts before it
 * lead to. A part without data means "[]": every element of the array that the parts before it lead
 * to. "a[].b" is a, [], b. */
typedef struct bm_json_path {
    const bm_str *parts;
    size_t n_parts;
} bm_json_path;

static inline bool bm_json_part_is_array(const bm_str *part)
{
    return part->data == NULL;
}

/* Do the first n parts of the path lead through an array, so that there may be any number of
 * values? */
static inline bool bm_json_path_is_many(const bm_json_path *path, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bm_json_part_is_array(&path->parts[i]))
            return true;
    return false;
}

/* Does the path end with "[]", at elements of an array? If so, a number counts as a value too, as
 * its source text. */
static inline bool bm_json_path_has_numbers(const bm_json_path *path)
{
    return path->n_parts > 0 && bm_json_part_is_array(&path->parts[path->n_parts - 1]);
}

typedef enum bm_json_kind {
    BM_JSON_MISSING,
    BM_JSON_NULL,
    BM_JSON_BOOL,
    BM_JSON_NUMBER,
    BM_JSON_STRING,
    BM_JSON_ARRAY,
    BM_JSON_OBJECT
} bm_json_kind;

/* The value at one path. For a path through arrays, it is a string: all values of the path, joined
 * by newlines. A null is empty. A number is its source text, if the path ends with "[]". If one of
 * the values is anything else, the field has the kind of the first such value. A value is missing
 * if an object on the way lacks the next part of the path, or if something on the way is not the
 * object or array that the path requires. */
typedef struct bm_json_field {
    bm_json_kind kind;
    bm_str value; /* a string: unescaped, valid UTF-8; a number: its source text */
    /* of a string: bytes after unescaping, before repair (3 for an unpaired surrogate) */
    uint64_t len_bytes;
    uint64_t n_invalid; /* number of U+FFFD written for invalid subparts and unpaired surrogates */
    /* For a path through arrays: if the first value without a text is in an array, the number of
     * this value, from 1; else 0. */
    uint64_t place;
} bm_json_field;

typedef struct bm_json_exact bm_json_exact;

/* Open a parser for these paths, which are borrowed until close. */
bm_status bm_json_exact_open(const bm_json_path *paths, size_t n_paths, bm_json_exact **out,
                             bm_error *err);
/* Open a parser for n names, which are copied. Each is the name of a key or, if the object has no
 * such key, a dotted path. In a path, a dot means nesting, "\." is a dot within a key, and [] at
 * the end of a part means every element of an array. */
bm_status bm_json_exact_open_text(const char *const *paths, size_t n, bm_json_exact **out,
                                  bm_error *err);
/* Free the parser's buffers for rewritten strings and keys, if they have more than `keep` bytes. */
void bm_json_exact_trim(bm_json_exact *exact, size_t keep);
void bm_json_exact_close(bm_json_exact *exact); /* NULL is fine */

/* Parse all of `text`, and fill fields[n_paths], which are valid until the next call. Numbers are
 * given as their source text. Strings that need no rewriting may be views of `text`. If the text is
 * no JSON object, *broken is the reason, valid until the next call, and the fields are undefined.
 * Otherwise *broken is NULL. Fails only with BM_ERR_NOMEM. */
bm_status bm_json_exact_run(bm_json_exact *exact, bm_str text, bm_json_field *fields,
                            const char **broken, bm_error *err);
/* Like bm_json_exact_run, for a text that is known not to be broken. Strings are not repaired.
 * Invalid bytes are unchanged, and an unpaired surrogate becomes the three bytes that it would have
 * in UTF-8. */
bm_status bm_json_exact_run_as_read(bm_json_exact *exact, bm_str text, bm_json_field *fields,
                                    bm_error *err);
/* Like bm_json_exact_run_as_read, but the value of a string is the string's position in the text:
 * BM_JSON_PLACE, followed by the bytes of a bm_json_place. A number is its source text; null is
 * empty. */
#define BM_JSON_PLACE '"'
typedef struct bm_json_place {
    size_t begin, end; /* offsets in the text of the bytes between the quotes */
} bm_json_place;
bm_status bm_json_exact_run_places(bm_json_exact *exact, bm_str text, bm_json_field *fields,
                                   bm_error *err);
