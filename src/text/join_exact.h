/* SPDX-License-Identifier: Apache-2.0 */
/* join_exact.h -- the buffer of joined text, and joining text that is not plain (shingle_ops.h) by
 * code points. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/batches.h"
#include "text/normalize.h"
#include "text/shingle_ops.h"
#include "text/unicode_tables.h"

/* The join rules for these options. */
bm_join_rules bm_join_rules_of(const bm_text_options *options);

/* Reserve space for `more` bytes and both margins. */
bm_status bm_joined_reserve(bm_joined *joined, size_t more, bm_error *err);
/* Begin a new document in the same memory. */
void bm_joined_begin(bm_joined *joined);
/* End a document: drop the separator at the end, if any. */
void bm_joined_end(bm_joined *joined, bm_join_rule rule);
void bm_joined_reset(bm_joined *joined); /* frees */
/* Call when the fast path has joined text whose last byte is `byte`. */
static inline void bm_joined_go_behind(bm_joined *joined, char byte)
{
    joined->after_base = bm_char_class_of((unsigned char)byte) == BM_CLASS_WORD;
}

/* Append the joined form of a stretch of valid UTF-8 at the beginning of *rest, where the fast path
 * stopped, and advance *rest past the stretch, which has at least one byte. The stretch ends before
 * 16 bytes of ASCII or, to keep scratch small, at the first offset past 16 KiB at which the
 * normalisers allow a cut. `codes` are two scratch arrays. */
bm_status bm_join_exact(const bm_join_rules *rules, bm_str *rest, bm_codes codes[2],
                        bm_joined *joined, bm_error *err);
