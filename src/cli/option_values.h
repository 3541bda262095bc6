/* option_values.h -- arg_option.parse of the options whose values are small languages: fill the
 * field, or answer false and say in `why` (cap bytes) what was expected. */
#ifndef BM_CLI_OPTION_VALUES_H
#define BM_CLI_OPTION_VALUES_H

#include <stdbool.h>
#include <stddef.h>

/* none, or a list of steps; field: uint32_t, BM_NORM_* bits. */
bool cli_parse_normalize(const char *text, void *field, char *why, size_t cap);
/* One character of ASCII, no quote and no line ending; or a backslash and a t, for a tab. */
bool cli_parse_character(const char *text, void *field, char *why, size_t cap);
/* exact, signature, none, contained, contained=C; field: cli_match_settings. */
bool cli_parse_verify(const char *text, void *field, char *why, size_t cap);
/* word:K, char:K, byte:K; field: bm_text_options. */
bool cli_parse_shingle(const char *text, void *field, char *why, size_t cap);
/* The same, added to what is there; field: cli_shingles. */
bool cli_parse_shingles(const char *text, void *field, char *why, size_t cap);
/* T,T,...; field: cli_thresholds. */
bool cli_parse_thresholds(const char *text, void *field, char *why, size_t cap);
/* S:P, each more than 0, S at most 1, P less than 1; field: cli_ceiling. */
bool cli_parse_ceiling(const char *text, void *field, char *why, size_t cap);
/* I/N, two whole numbers, I from 1 to N; field: cli_shard. */
bool cli_parse_shard(const char *text, void *field, char *why, size_t cap);

#endif
