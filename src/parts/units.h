/* SPDX-License-Identifier: Apache-2.0 */
/* units.h -- `dedup` of lines and paragraphs: the parts of documents that an earlier part equals
 * are cut out of them. */
#pragma once

#include <bandmill/job.h>

#include "job/settings.h"

/* A dedup job with a unit in its settings. */
bm_status bm_units_job(const bm_settings *settings, bm_summary **out, bm_error *err);

/* --- the cutter of texts --- */

/* The unit of `text` that begins at `at`: where it ends, and whether it is White_Space alone.
 * Lines end after their LF; a paragraph ends after the blank lines that follow it. */
typedef struct bm_text_unit_end {
    size_t end;
    bool blank;
} bm_text_unit_end;
bm_text_unit_end bm_unit_end(bm_unit unit, bm_str text, size_t at);
