/* file_names.c -- a row for each name; see file_names.h. */
#include "model/file_names.h"

#include <stddef.h>
#include <string.h>

bm_file_kind bm_file_kind_of(const char *name)
{
    static const struct {
        const char *name;
        bm_file_kind kind;
    } files[] = {
        {BM_FILE_SIGNATURES, BM_FILE_KIND_ARRAY}, {BM_FILE_BAND_KEYS, BM_FILE_KIND_ARRAY},
        {BM_FILE_N_SHINGLES, BM_FILE_KIND_ARRAY}, {BM_FILE_N_BYTES, BM_FILE_KIND_ARRAY},
        {BM_FILE_CONTENT, BM_FILE_KIND_ARRAY},    {BM_FILE_IDS, BM_FILE_KIND_IDS},
        {BM_FILE_KEPT_IDS, BM_FILE_KIND_IDS},     {BM_FILE_SOURCES, BM_FILE_KIND_TABLE},
        {BM_FILE_SKIPPED, BM_FILE_KIND_TABLE},    {BM_FILE_REMOVED, BM_FILE_KIND_TABLE},
        {BM_FILE_PAIRS, BM_FILE_KIND_TABLE},      {BM_FILE_GROUPS, BM_FILE_KIND_GROUPS},
        {BM_FILE_MANIFEST, BM_FILE_KIND_REPORT},  {BM_FILE_REPORT, BM_FILE_KIND_REPORT},
        {BM_FILE_KEPT, BM_FILE_KIND_KEPT},        {BM_FILE_REMOVED_RECORDS, BM_FILE_KIND_KEPT},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp(name, files[i].name) == 0)
            return files[i].kind;
    return strncmp(name, BM_FILE_KEPT ".", sizeof(BM_FILE_KEPT ".") - 1) == 0 ||
                   strncmp(name, BM_FILE_REMOVED_RECORDS ".",
                           sizeof(BM_FILE_REMOVED_RECORDS ".") - 1) == 0
               ? BM_FILE_KIND_KEPT
               : BM_FILE_KIND_FOREIGN;
}
