/* SPDX-License-Identifier: Apache-2.0 */
/* option_check.h -- checks the values of the option parts that several calls share. Checks that
 * need a file, a device or another option are left to the calls. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/field_rows.h"

/* Check every part. BM_ERR_USAGE names the field: an enum or a number is out of range, an array is
 * NULL although its length is not 0, or a reserved word is set. */
bm_status bm_option_parts_check(const bm_option_parts *parts, bm_error *err);
/* Check the list `field`. A list of texts must not contain NULL, and a list of numbers must not
 * contain NAN. BM_ERR_USAGE names the field. */
bm_status bm_option_list_check(const char *field, const char *const *list, size_t n, bm_error *err);
bm_status bm_option_number_check(const char *field, double value, bm_error *err);

/* Do the options name any documents: paths, a list of paths, or a table? */
bool bm_input_given(const bm_input_options *input);

/* Does the scheme accept the hash function of the shingles? If not, BM_ERR_USAGE. */
bm_status bm_option_hash_check(const bm_text_options *text, const bm_sketch_options *sketch,
                               bm_error *err);
/* Is each bit one of BM_FIELD_*? If not, BM_ERR_USAGE. */
bm_status bm_option_set_fields_check(uint64_t set_fields, bm_error *err);
