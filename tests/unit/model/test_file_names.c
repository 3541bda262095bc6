/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "model/file_names.h"

Test(file_names, each_file_of_ours_is_known_by_its_name)
{
    static const struct {
        const char *name;
        bm_file_kind kind;
    } files[] = {
        {"signatures.npy", BM_FILE_KIND_ARRAY},
        {"band_keys.npy", BM_FILE_KIND_ARRAY},
        {"n_shingles.npy", BM_FILE_KIND_ARRAY},
        {"n_bytes.npy", BM_FILE_KIND_ARRAY},
        {"content_hash.npy", BM_FILE_KIND_ARRAY},
        {"ids.txt", BM_FILE_KIND_IDS},
        {"kept_ids.txt", BM_FILE_KIND_IDS},
        {"sources.tsv", BM_FILE_KIND_TABLE},
        {"skipped.tsv", BM_FILE_KIND_TABLE},
        {"removed.tsv", BM_FILE_KIND_TABLE},
        {"pairs.tsv", BM_FILE_KIND_TABLE},
        {"groups.jsonl", BM_FILE_KIND_GROUPS},
        {"manifest.json", BM_FILE_KIND_REPORT},
        {"report.json", BM_FILE_KIND_REPORT},
        {"kept", BM_FILE_KIND_KEPT},
        {"kept.jsonl.gz", BM_FILE_KIND_KEPT},
        {"kept.", BM_FILE_KIND_KEPT},
        {"removed", BM_FILE_KIND_KEPT},
        {"annotated", BM_FILE_KIND_KEPT},
        {"annotated.parquet", BM_FILE_KIND_KEPT},
        {"removed.jsonl.gz", BM_FILE_KIND_KEPT},
        {"removed.tsv.gz", BM_FILE_KIND_KEPT},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        cr_assert_eq(bm_file_kind_of(files[i].name), files[i].kind, "%s", files[i].name);
}

Test(file_names, a_name_that_only_resembles_one_of_ours_is_foreign)
{
    static const char *const names[] = {"",
                                        "signatures.npy.gz",
                                        "Ids.txt",
                                        "ids.txt~",
                                        "keptx",
                                        "removedx",
                                        "kept_ids.txt.old",
                                        "kep",
                                        "report.jso",
                                        "./kept",
                                        ".bandmill-journal"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        cr_assert_eq(bm_file_kind_of(names[i]), BM_FILE_KIND_FOREIGN, "%s", names[i]);
}
