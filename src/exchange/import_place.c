/* import_place.c -- a file as it is, or the files of an export.
 *
 * Tests: tests/cli/cases/import.sh, tests/reference/test_exchange.py */
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "json/json_scan.h"
#include "model/file_names.h"
#include "model/option_names.h"
#include "exchange/import_source.h"

static const struct {
    bm_exchange from;
    const char *file;
    bool lists; /* ids and sizes lie beside */
} forms[] = {{BM_EXCHANGE_LEANMINHASH, BM_FILE_LEAN, true},
             {BM_EXCHANGE_NEMO, BM_FILE_NEMO, true},
             {BM_EXCHANGE_NPY, BM_FILE_SIGNATURES, true},
             {BM_EXCHANGE_ARROW, BM_FILE_SIGNATURES_ARROW, false},
             {BM_EXCHANGE_PARQUET, BM_FILE_SIGNATURES_PARQUET, false}};

/* Is a parameter of the export this word? */
static bool says(const bm_manifest *manifest, const char *name, const char *word)
{
    bm_str parameters, value;
    return bm_manifest_member(manifest, "parameters", &parameters) &&
           bm_json_scan_find(parameters, name, &value) && value.len == strlen(word) + 2 &&
           memcmp(value.data + 1, word, strlen(word)) == 0;
}

static bm_status open_report(const char *folder, const bm_import_asked *asked, bm_import_place *out,
                             bm_error *err)
{
    const char *form = bm_option_word(BM_OPTION_EXCHANGE, asked->from);
    BM_TRY(bm_manifest_open_dir(folder, asked->memory, &out->manifest, err));
    if (strcmp(bm_manifest_kind(out->manifest), "export") != 0 ||
        !says(out->manifest, "to", form) || !says(out->manifest, "what", "signatures"))
        return bm_fail_at(err, BM_ERR_FORMAT, folder, 0,
                          "is no export of signatures in the form of %s", form);
    return bm_manifest_check(out->manifest, folder, err);
}

static bm_status find_files(const char *folder, bm_exchange from, bm_import_place *out,
                            bm_error *err)
{
    size_t i = 0;
    while (forms[i].from != from)
        i++;
    BM_TRY(bm_string_format(&out->file, err, "%s/%s", folder, forms[i].file));
    if (forms[i].lists)
        BM_TRY(bm_string_format(&out->ids, err, "%s/" BM_FILE_IDS, folder));
    if (forms[i].lists)
        BM_TRY(bm_string_format(&out->sizes, err, "%s/" BM_FILE_N_SHINGLES, folder));
    return BM_OK;
}

bm_status bm_import_place_find(const char *path, const bm_import_asked *asked, bm_import_place *out,
                               bm_error *err)
{
    struct stat info;
    *out = (bm_import_place){0};
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        out->file = bm_strdup(path);
        return out->file != NULL ? BM_OK : bm_fail_nomem(err, strlen(path));
    }
    BM_TRY(open_report(path, asked, out, err));
    return find_files(path, asked->from, out, err);
}

void bm_import_place_reset(bm_import_place *place)
{
    bm_free(place->file);
    bm_free(place->ids);
    bm_free(place->sizes);
    bm_manifest_close(place->manifest);
    *place = (bm_import_place){0};
}
