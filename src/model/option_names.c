/* SPDX-License-Identifier: Apache-2.0 */
/* option_names.c -- the words of option values (include/bandmill/option_names.h). Each list is in
 * the order of its enum; an empty word is a value that has none.
 *
 * Tests: tests/unit/model/test_option_names.c */
#include "model/option_words.h"

#include <bandmill/option_names.h>
#include <stdio.h>
#include <string.h>

#include "base/sized_struct.h"

static const char *const formats[] = {"auto",    "jsonl",      "tsv",  "csv",   "lines",
                                      "files",   "hashes",     "json", "arrow", "keys",
                                      "parquet", "signatures", "wet"};
static const char *const headers[] = {"", "yes", "no"};
static const char *const duplicate_ids[] = {"error", "number", "skip", "replace"};
static const char *const on_errors[] = {"fail", "skip"};
static const char *const invalid_utf8[] = {"replace", "error"};
static const char *const normalize[] = {"nfc",    "nfkc",  "lower",    "strip-accents",
                                        "digits", "punct", "invisible"};
static const char *const words[] = {"alnum", "space", "text-dedup"};
static const char *const shingles[] = {"word", "char", "byte", "stopword"};
static const char *const shorts[] = {"whole", "skip"};
static const char *const schemes[] = {"affine32", "oph",   "cws",      "legacy",   "text-dedup",
                                      "nemo",     "lance", "affine64", "datatrove"};
static const char *const candidates[] = {"lsh", "all", "length"};
static const char *const verify[] = {"auto", "exact", "signature", "none", "contained"};
static const char *const identical[] = {"all", "chain"};
static const char *const clusters[] = {"components", "star"};
static const char *const keeps[] = {"first", "last", "longest", "shortest", "none"};
static const char *const kepts[] = {"same", "none", "gz", "zst", "no"};
static const char *const text_offloads[] = {"auto", "off", "trial", "on"};
static const char *const stores[] = {"sets", "signatures"};
static const char *const weights[] = {"none", "tfidf"};

static const char *const hashes[] = {"xxh3", "xxh64", "sha1", "murmur3"};
static const char *const exchanges[] = {"leanminhash", "datatrove", "nemo", "text-dedup",
                                        "milvus",      "lance",     "npy",  "tsv",
                                        "arrow",       "parquet"};
static const char *const export_whats[] = {"signatures", "bands"};
static const char *const measures[] = {"jaccard", "containment"};

#define N_NORMALIZE (unsigned)(sizeof normalize / sizeof normalize[0])

#define LIST(field, names)                                                                         \
    {                                                                                              \
        field, names, sizeof names / sizeof names[0]                                               \
    }

/* A row an option, in the order of bm_option: its field in the options, its words. */
static const struct {
    const char *field;
    const char *const *words;
    unsigned n;
} lists[BM_N_OPTIONS] = {
    LIST("format", formats),
    LIST("header", headers),
    LIST("duplicate_ids", duplicate_ids),
    LIST("on_error", on_errors),
    LIST("invalid_utf8", invalid_utf8),
    LIST("normalize", normalize),
    LIST("words", words),
    LIST("shingle", shingles),
    LIST("short_rule", shorts),
    LIST("scheme", schemes),
    LIST("candidates", candidates),
    LIST("verify", verify),
    LIST("identical", identical),
    LIST("cluster", clusters),
    LIST("keep", keeps),
    LIST("kept", kepts),
    LIST("text_offload", text_offloads),
    LIST("store", stores),
    LIST("weights", weights),
    LIST("hash", hashes),
    LIST("to", exchanges),
    LIST("what", export_whats),
    LIST("measure", measures),
    LIST("removed", kepts),
};

const char *bm_option_name(bm_option option, unsigned value)
{
    if ((unsigned)option >= BM_N_OPTIONS || value >= lists[option].n ||
        lists[option].words[value][0] == '\0')
        return NULL;
    return lists[option].words[value];
}

bool bm_option_value(bm_option option, const char *word, size_t len, unsigned *value)
{
    if ((unsigned)option >= BM_N_OPTIONS || word == NULL || value == NULL || len == 0)
        return false;
    for (unsigned i = 0; i < lists[option].n; i++) {
        const char *known = lists[option].words[i];
        if (strlen(known) == len && memcmp(known, word, len) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

const char *bm_option_name_or(bm_option option, unsigned value, const char *otherwise)
{
    const char *word = bm_option_name(option, value);
    return word != NULL ? word : otherwise;
}

const char *bm_option_field(bm_option option)
{
    return lists[option].field;
}

bm_status bm_option_check(bm_option option, unsigned value, bm_error *err)
{
    return bm_enum_check(lists[option].field, value, lists[option].n, err);
}

void bm_normalize_words(uint32_t bits, char *out, size_t cap)
{
    size_t used = 0;
    snprintf(out, cap, "none");
    for (unsigned i = 0; i < N_NORMALIZE; i++) {
        const unsigned bit = (i + N_NORMALIZE - 1) % N_NORMALIZE; /* the last is applied first */
        if ((bits & (1u << bit)) != 0 && used < cap)
            used += (size_t)snprintf(out + used, cap - used, "%s%s", used == 0 ? "" : ",",
                                     normalize[bit]);
    }
}

bool bm_normalize_value(const char *list, uint32_t *bits)
{
    *bits = 0;
    if (strcmp(list, "none") == 0)
        return true;
    for (;;) {
        unsigned bit;
        const size_t len = strcspn(list, ",");
        if (!bm_option_value(BM_OPTION_NORMALIZE, list, len, &bit))
            return false;
        *bits |= 1u << bit;
        if (list[len] == '\0')
            return true;
        list += len + 1;
    }
}

void bm_shingle_words(const bm_text_options *text, char *out, size_t cap)
{
    snprintf(out, cap, "%s:%u", bm_option_name(BM_OPTION_SHINGLE, text->shingle), text->shingle_k);
}
