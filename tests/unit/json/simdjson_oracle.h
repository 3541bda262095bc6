/* SPDX-License-Identifier: Apache-2.0 */
/* simdjson_oracle.h -- fields of a JSON line by simdjson, to compare with our parser. */
#pragma once

#include <bandmill/types.h>

#include "json/json_exact.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct json_oracle json_oracle;

json_oracle *json_oracle_open(void); /* NULL: no memory */
void json_oracle_close(json_oracle *oracle);

/* Fills fields[n_paths], whose strings live until the next call. A number has its source text only
 * at the path `number_path`. False: the oracle has no answer, and the fields are undefined. */
bool json_oracle_line(json_oracle *oracle, bm_str text, const bm_json_path *paths, size_t n_paths,
                      size_t number_path, bm_json_field *fields);

#if defined(__cplusplus)
}
#endif
