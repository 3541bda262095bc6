/* SPDX-License-Identifier: Apache-2.0 */
/* option_check.h -- checks of the option parts that several calls share: is every value allowed?
 * Checks that need a file, a device or another option are left to the calls. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/field_rows.h"

/* Check every part. BM_ERR_USAGE names the field: an enum or a number is out of range, an array
 * with a length is NULL, or a reserved word is set. */
bm_status bm_option_parts_check(const bm_option_parts *parts, bm_error *err);
/* Check the field `field`: a list of texts must not contain NULL, and a number must not be NAN.
 * BM_ERR_USAGE names the field. */
bm_status bm_option_list_check(const char *field, const char *const *list, size_t n, bm_error *err);
bm_status bm_option_number_check(const char *field, double value, bm_error *err);

/* Are there any documents: paths, a list of them, a table? */
bool bm_input_given(const bm_input_options *input);

/* Does the scheme accept the hash of shingles? If not, BM_ERR_USAGE. */
bm_status bm_option_hash_check(const bm_text_options *text, const bm_sketch_options *sketch,
                               bm_error *err);
/* Are all bits BM_FIELD_*? If not, BM_ERR_USAGE. */
bm_status bm_option_set_fields_check(uint64_t set_fields, bm_error *err);
