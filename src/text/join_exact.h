/* SPDX-License-Identifier: Apache-2.0 */
/* join_exact.h -- the buffer of joined text, and a function that joins text by code points if it is
 * not plain (shingle_ops.h). */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/batches.h"
#include "text/normalize.h"
#include "text/shingle_ops.h"
#include "text/unicode_tables.h"

/* The join rules for these options. */
bm_join_rules bm_join_rules_of(const bm_text_options *options);

/* Reserve space for `more` bytes, and for the margins before and after the text. */
bm_status bm_joined_reserve(bm_joined *joined, size_t more, bm_error *err);
/* Begin a new document. The memory is used again. */
void bm_joined_begin(bm_joined *joined);
/* End a document. Under BM_JOIN_SPACE and BM_JOIN_ALNUM, if it ends with a separator, drop that. */
void bm_joined_end(bm_joined *joined, bm_join_rule rule);
void bm_joined_reset(bm_joined *joined);
/* Call this after the fast path has joined text. `byte` is the last byte that it read. */
static inline void bm_joined_go_behind(bm_joined *joined, char byte)
{
    joined->after_base = bm_char_class_of((unsigned char)byte) == BM_CLASS_WORD;
}

/* Append the joined form of a stretch at the beginning of *rest, and remove the stretch from *rest.
 * *rest must be valid UTF-8; it begins where the fast path stopped. The stretch has at least one
 * byte. It ends before 16 bytes of ASCII or, to limit scratch memory, at the first offset past 16
 * KiB where the normalisers allow a cut. `codes` are two scratch arrays. */
bm_status bm_join_exact(const bm_join_rules *rules, bm_str *rest, bm_codes codes[2],
                        bm_joined *joined, bm_error *err);
