/* SPDX-License-Identifier: Apache-2.0 */
/* file_names.c -- has a row for each kind of file name; see file_names.h.
 *
 * Tests: tests/cli/cases/force_file.sh, tests/unit/model/test_file_heads.c,
 *        tests/unit/model/test_file_names.c */
#include "model/file_names.h"

#include <string.h>

bm_file_kind bm_file_kind_of(const char *name)
{
    static const struct {
        const char *name;
        bm_file_kind kind;
    } files[] = {
        {BM_FILE_SIGNATURES, BM_FILE_KIND_ARRAY}, {BM_FILE_BAND_KEYS, BM_FILE_KIND_ARRAY},
        {BM_FILE_N_SHINGLES, BM_FILE_KIND_ARRAY}, {BM_FILE_N_BYTES, BM_FILE_KIND_ARRAY},
        {BM_FILE_CONTENT, BM_FILE_KIND_ARRAY},    {BM_FILE_TEXT_HASH, BM_FILE_KIND_ARRAY},
        {BM_FILE_IDS, BM_FILE_KIND_IDS},          {BM_FILE_KEPT_IDS, BM_FILE_KIND_IDS},
        {BM_FILE_SOURCES, BM_FILE_KIND_TABLE},    {BM_FILE_SKIPPED, BM_FILE_KIND_TABLE},
        {BM_FILE_REMOVED, BM_FILE_KIND_TABLE},    {BM_FILE_PAIRS, BM_FILE_KIND_TABLE},
        {BM_FILE_CUTS, BM_FILE_KIND_TABLE},       {BM_FILE_OVERLAP, BM_FILE_KIND_TABLE},
        {BM_FILE_ITEMS, BM_FILE_KIND_TABLE},      {BM_FILE_GROUPS, BM_FILE_KIND_GROUPS},
        {BM_FILE_MANIFEST, BM_FILE_KIND_REPORT},  {BM_FILE_REPORT, BM_FILE_KIND_REPORT},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp(name, files[i].name) == 0)
            return files[i].kind;
    static const char *const records[] = {BM_FILE_KEPT, BM_FILE_REMOVED_RECORDS, BM_FILE_ANNOTATED};
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        const size_t len = strlen(records[i]);
        if (strncmp(name, records[i], len) == 0 && (name[len] == '\0' || name[len] == '.'))
            return BM_FILE_KIND_KEPT;
    }
    return BM_FILE_KIND_FOREIGN;
}

/* === file heads ===
 *
 * Has a pattern for each kind of file. A # in a pattern matches a number. */

static const char *const patterns[] = {
    BM_HEAD_PAIRS "\n",
    BM_HEAD_CONTAINED "\n",
    BM_HEAD_PAIRS BM_HEAD_EDIT "\n",
    BM_HEAD_CONTAINED BM_HEAD_EDIT "\n",
    BM_HEAD_ANSWERS "\n",
    BM_HEAD_HOLDERS "\n",
    BM_HEAD_THRESHOLDS "\n",
    BM_HEAD_HISTOGRAM "\n",
    BM_HEAD_GRAPH "\n",
    BM_HEAD_PICTURE,
    BM_HEAD_PLANS_PICTURE("#"),
    "{\"group\":#,\"kept\":\"",                         /* groups */
    "{\n  \"schema\": #,\n  \"tool\": \"bandmill\",\n", /* reports */
    "{\"schema\":#,\"kind\":\"cluster\",",
    "{\"schema\":#,\"kind\":\"explain\",",
    "{\"schema\":#,\"kind\":\"report\",",
    BM_HEAD_PAGE,
    "group #: # document", /* explain */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool begins_so(const char *head, size_t len, const char *pattern)
{
    size_t at = 0;
    for (; *pattern != '\0' && at < len; pattern++) {
        if (*pattern != '#') {
            if (head[at++] != *pattern)
                return false;
            continue;
        }
        if (!is_digit(head[at]))
            return false;
        while (at < len && is_digit(head[at]))
            at++;
    }
    return *pattern == '\0';
}

bool bm_file_head_is_ours(const char *head, size_t len)
{
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (begins_so(head, len, patterns[i]))
            return true;
    return len == 0;
}
