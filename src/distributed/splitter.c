/* SPDX-License-Identifier: Apache-2.0 */
/* splitter.c -- bm_splitter: makes entries from documents, and blocks from entries.
 *
 *     rows -> texts -> signer: band keys -> entries (part, key, hash of the id), by document
 *          -> sorted by part (counting sort) -> blocks
 *
 * The band key is mixed with the number of its band. The upper 24 bits of the result choose the
 * part, and the lower 40 bits are the key of the entry. In addition, the id hash of each document
 * is sent once, to a part chosen by this hash. So equal ids reach the same part.
 *
 * Memory: 16 bytes for each entry that is not taken yet. While blocks are taken, the blocks need
 * additional memory.
 *
 * Tests: tests/unit/distributed/test_splitter.c */
#include <bandmill/distributed.h>

#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bandmill/sketch.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "base/utf8.h"
#include "distributed/block.h"
#include "model/option_check.h"
#include "model/option_words.h"
#include "sources/arrow_column.h"
#include "text/stop_words.h"

#define PARTS_MAX  65536u
#define SIGN_DOCS  8192u /* documents signed at once */
#define ID_SEED    42    /* the seed of Spark's xxhash64 */
#define PART_SHIFT 40    /* the lower 40 bits are the key of an entry */
#define SHOWN      64    /* most bytes of an id in a message */

/* --- columns --- */

/* Find a column by its name, and open it. It must have text or, if `integers`, text or integers. */
static bm_status find_column(const struct ArrowSchema *schema, const struct ArrowArray *array,
                             const char *name, bool integers, bm_arrow_column *out, bm_error *err)
{
    bm_arrow_column_path path = {.n = 1, .step = {BM_STEP_CHILD}};
    if (schema == NULL || array == NULL || strcmp(schema->format, "+s") != 0)
        return bm_fail_field(err, "schema", "no table (a struct of columns)");
    for (uint32_t i = 0; i < schema->n_children && !path.found; i++)
        if (strcmp(schema->children[i]->name, name) == 0) {
            path.found = true;
            path.child[0] = i;
        }
    if (!path.found)
        return bm_fail(err, BM_ERR_INPUT, "no column '%s'", name);
    const struct ArrowSchema *child = schema->children[path.child[0]];
    const bm_arrow_column_type type = bm_arrow_column_type_of(child);
    const bool integer = type.kind == BM_ARROW_COLUMN_INT || type.kind == BM_ARROW_COLUMN_UINT;
    if (!bm_arrow_column_is_text(type) && !(integers && integer))
        return bm_fail(err, BM_ERR_INPUT, "the column '%s' is of type %s (text%s)", name,
                       bm_arrow_column_type_name(child), integers ? " or integers" : " or bytes");
    const char *wrong = bm_arrow_column_open(array, &path, type, out);
    return wrong == NULL ? BM_OK : bm_fail(err, BM_ERR_INPUT, "the column '%s': %s", name, wrong);
}

static bm_str text_at(const bm_arrow_column *texts, size_t row)
{
    return bm_arrow_column_is_null(texts, row) ? (bm_str){"", 0}
                                               : bm_arrow_column_bytes(texts, row);
}

static bool is_integer(const bm_arrow_column *column)
{
    return column->type.in_width == 0 &&
           (column->type.kind == BM_ARROW_COLUMN_INT || column->type.kind == BM_ARROW_COLUMN_UINT);
}

static uint64_t id_hash(const bm_arrow_column *ids, size_t row)
{
    if (is_integer(ids)) {
        const uint64_t value = bm_arrow_column_integer(ids, row);
        return XXH64(&value, sizeof value, ID_SEED) & ~BM_ID_HASH_KNOWN;
    }
    const bm_str text = bm_arrow_column_bytes(ids, row);
    return XXH64(text.data, text.len, ID_SEED) & ~BM_ID_HASH_KNOWN;
}

bm_status bm_hash_ids(const struct ArrowSchema *schema, const struct ArrowArray *array,
                      uint64_t *hashes, bm_error *err)
{
    bm_arrow_column ids;
    BM_TRY(find_column(schema, array, "id", true, &ids, err));
    if (hashes == NULL && array->length > 0)
        return bm_fail_field(err, "hashes", "no place for the hashes given");
    for (size_t row = 0; row < (size_t)array->length; row++) {
        if (bm_arrow_column_is_null(&ids, row))
            return bm_fail(err, BM_ERR_INPUT, "row %zu: the id is null", row + 1);
        hashes[row] = id_hash(&ids, row);
    }
    return BM_OK;
}

bm_status bm_hash_texts(const struct ArrowSchema *schema, const struct ArrowArray *array,
                        uint64_t *digests, bm_error *err)
{
    bm_arrow_column texts;
    BM_TRY(find_column(schema, array, "text", false, &texts, err));
    if (digests == NULL && array->length > 0)
        return bm_fail_field(err, "digests", "no place for the digests given");
    for (size_t row = 0; row < (size_t)array->length; row++) {
        const bm_str text = text_at(&texts, row);
        const XXH128_hash_t sum = XXH3_128bits(text.data, text.len);
        digests[2 * row] = sum.low64;
        digests[2 * row + 1] = sum.high64;
    }
    return BM_OK;
}

/* --- the splitter --- */

typedef struct entry {
    uint64_t key; /* bits from PART_SHIFT on: choose the part; lower bits: the key to send */
    uint64_t id_hash;
} entry;

struct bm_splitter {
    bm_signer *signer;
    bm_shingle_options shingling; /* used by count_unreadable */
    char *stop_words;             /* owned copy of the path of the stop words; NULL: none */
    uint32_t bands, parts;
    bm_input_options reading; /* has the rules for bad records; other members are defaults */
    uint64_t known;           /* BM_ID_HASH_KNOWN, or 0 */
    bm_block_head head;       /* settings, and counts of the documents that are not taken yet */
    entry *entries; /* entries not taken yet: one per band of each document that has shingles */
    uint64_t *ids;  /* id hashes not taken yet: one per document */
    size_t n_entries, cap_entries, n_ids, cap_ids;
    /* Arguments and results of one call of the signer. */
    bm_str texts[SIGN_DOCS];
    uint64_t hashes[SIGN_DOCS];
    uint32_t n_shingles[SIGN_DOCS];
    uint64_t *keys; /* SIGN_DOCS * bands */
};

BM_OPTIONS_INIT(splitter, .text = BM_TEXT_DEFAULTS, .sketch = BM_SKETCH_DEFAULTS, .parts = 1,
                .resources = BM_RESOURCE_DEFAULTS)

/* Set *out to a hash of the settings that must be equal in all blocks that are joined. */
static bm_status settings_of(const bm_splitter_options *o, uint64_t *out, bm_error *err)
{
    bm_text_options text = o->text;
    char *stop_words = NULL;
    BM_TRY(bm_stop_words_load(&text, &stop_words, err));
    const uint64_t words[] = {
        text.normalize,
        text.words,
        text.shingle,
        text.shingle_k,
        text.short_rule,
        text.bag,
        text.hash,
        o->sketch.perms,
        o->sketch.seed,
        o->sketch.scheme,
        o->bands,
        o->rows,
        o->parts,
        text.stopwords == NULL ? 0 : XXH3_64bits(text.stopwords, strlen(text.stopwords))};
    bm_free(stop_words);
    *out = XXH3_64bits(words, sizeof words);
    return BM_OK;
}

static bm_status read_options(const bm_splitter_options *options, bm_splitter_options *used,
                              bm_input_options *reading, bm_error *err)
{
    *used = splitter_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_splitter_options, callbacks), used, err));
    if (used->bands == 0 || used->rows == 0)
        return bm_fail_field(err, used->bands == 0 ? "bands" : "rows",
                             "%u bands of %u rows (at least 1 of each)", used->bands, used->rows);
    if (used->parts == 0 || used->parts > PARTS_MAX)
        return bm_fail_field(err, "parts", "%u parts (1 to %u)", used->parts, PARTS_MAX);
    *reading = (bm_input_options)BM_INPUT_DEFAULTS;
#define OF_SPLITTER(member) reading->member = used->member;
#include "options/rows.def"
    bm_input_fill_limit(reading);
    return bm_fields_check(BM_PART_INPUT, &(bm_option_parts){.input = reading}, err);
}

bm_status bm_splitter_open(const bm_splitter_options *options, bm_splitter **out, bm_error *err)
{
    bm_splitter_options used;
    bm_input_options reading;
    BM_TRY(read_options(options, &used, &reading, err));
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the splitter given");
    bm_splitter *splitter = NULL;
    BM_TRY(bm_new_zero(&splitter, 1, err));
    bm_status status = BM_OK;
    bm_signer_options signing;
    bm_signer_options_init(&signing);
    signing.text = used.text;
    signing.sketch = used.sketch;
    signing.bands.bands = used.bands;
    signing.bands.rows = used.rows;
    signing.band_keys = used.bands != 0;
    signing.device = used.device;
    signing.resources = used.resources;
    signing.callbacks = used.callbacks;
    bm_shingle_options_init(&splitter->shingling);
    splitter->shingling.text = used.text;
    splitter->shingling.resources.threads = 1;
    splitter->bands = used.bands, splitter->parts = used.parts;
    splitter->reading = reading;
    splitter->known = used.known ? BM_ID_HASH_KNOWN : 0;
    if (used.text.stopwords != NULL)
        BM_TRY_OUT(bm_copy_text(used.text.stopwords, &splitter->stop_words, err));
    splitter->shingling.text.stopwords = splitter->stop_words;
    BM_TRY_OUT(bm_signer_open(&signing, &splitter->signer, err));
    BM_TRY_OUT(settings_of(&used, &splitter->head.settings, err));
    status = bm_new(&splitter->keys, (size_t)SIGN_DOCS * used.bands, err);
out:
    if (status != BM_OK) {
        bm_splitter_close(splitter);
        return status;
    }
    *out = splitter;
    return BM_OK;
}

void bm_splitter_close(bm_splitter *splitter)
{
    if (splitter == NULL)
        return;
    bm_signer_close(splitter->signer);
    bm_free_all(splitter->stop_words, splitter->entries, splitter->ids, splitter->keys, splitter);
}

size_t bm_splitter_waiting(const bm_splitter *splitter)
{
    return splitter != NULL ? (size_t)splitter->head.counts.documents : 0;
}

/* --- rows to entries --- */

/* Check a record. BM_ERR_INPUT: its id is null, or its text is too long, or is invalid UTF-8 that
 * is not repaired. */
static bm_status check_record(const bm_splitter *splitter, const bm_arrow_column *ids, size_t row,
                              bm_str text, bm_error *err)
{
    char digits[BM_ARROW_COLUMN_DIGITS];
    if (bm_arrow_column_is_null(ids, row))
        return bm_fail(err, BM_ERR_INPUT, "row %zu: the id is null", row + 1);
    const bool too_long = text.len > splitter->reading.max_doc_bytes;
    if (!too_long && (bm_input_repairs_utf8(&splitter->reading) ||
                      bm_utf8_valid_prefix(text.data, text.len) == text.len))
        return BM_OK;
    const bm_str id = is_integer(ids) ? bm_arrow_column_decimal(ids, row, digits)
                                      : bm_arrow_column_bytes(ids, row);
    const int shown = id.len < SHOWN ? (int)id.len : SHOWN;
    if (too_long)
        return bm_fail(err, BM_ERR_INPUT,
                       "document %.*s: the text has %zu bytes (at most %" PRIu64 ", max_doc_bytes)",
                       shown, id.data, text.len, splitter->reading.max_doc_bytes);
    return bm_fail(err, BM_ERR_INPUT, "document %.*s: the text is not UTF-8 (invalid_utf8)", shown,
                   id.data);
}

/* The finalizer of SplitMix64. */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* A text in another encoding has no shingles, like an empty text. Among the n texts just signed,
 * count such unreadable texts separately from empty ones. */
static bm_status count_unreadable(bm_splitter *splitter, size_t n, bm_error *err)
{
    bm_str *texts = splitter->texts;
    size_t n_without = 0;
    for (size_t i = 0; i < n; i++)
        if (splitter->n_shingles[i] == 0 && texts[i].len > 0)
            texts[n_without++] = texts[i];
    if (n_without == 0)
        return BM_OK;
    bm_hash_sets *sets = NULL;
    BM_TRY(bm_shingle_texts(&splitter->shingling, texts, n_without, &sets, err));
    const uint64_t *content = bm_hash_sets_content(sets);
    uint64_t n_unreadable = 0;
    for (size_t i = 0; i < n_without; i++)
        n_unreadable += content[2 * i] == 0 && content[2 * i + 1] == 1;
    bm_hash_sets_free(sets);
    splitter->head.counts.unreadable += n_unreadable;
    splitter->head.counts.empty -= n_unreadable;
    return BM_OK;
}

/* Sign the first n texts, and make the entries of those that have shingles. */
static bm_status sign(bm_splitter *splitter, size_t n, bm_error *err)
{
    const size_t bands = splitter->bands;
    const bm_signer_out out = {
        .struct_size = sizeof out, .keys = splitter->keys, .n_shingles = splitter->n_shingles};
    BM_TRY(bm_grow_array(&splitter->ids, &splitter->cap_ids, splitter->n_ids + n, err));
    BM_TRY(bm_grow_array(&splitter->entries, &splitter->cap_entries,
                         splitter->n_entries + n * bands, err));
    BM_TRY(bm_signer_sign_texts(splitter->signer, splitter->texts, n, &out, err));
    bm_joiner_counts *counts = &splitter->head.counts;
    entry *to = splitter->entries + splitter->n_entries;
    for (size_t i = 0; i < n; i++) {
        counts->shingles += splitter->n_shingles[i];
        counts->empty += splitter->n_shingles[i] == 0;
        for (size_t band = 0; band < bands && splitter->n_shingles[i] > 0; band++) {
            const uint64_t salt = (band + 1) * UINT64_C(0x9E3779B97F4A7C15);
            *to++ = (entry){mixed(splitter->keys[i * bands + band] ^ salt), splitter->hashes[i]};
        }
    }
    splitter->n_entries = (size_t)(to - splitter->entries);
    memcpy(splitter->ids + splitter->n_ids, splitter->hashes, n * sizeof *splitter->hashes);
    splitter->n_ids += n;
    counts->documents += n;
    return count_unreadable(splitter, n, err);
}

bm_status bm_splitter_add(bm_splitter *splitter, const struct ArrowSchema *schema,
                          const struct ArrowArray *array, bm_error *err)
{
    bm_arrow_column ids, texts;
    if (splitter == NULL)
        return bm_fail_field(err, "splitter", "no splitter given");
    BM_TRY(find_column(schema, array, "id", true, &ids, err));
    BM_TRY(find_column(schema, array, "text", false, &texts, err));
    size_t n = 0;
    for (size_t row = 0; row < (size_t)array->length; row++) {
        const bm_str text = text_at(&texts, row);
        const bool skip = bm_input_skips_bad_records(&splitter->reading);
        const bm_status status = check_record(splitter, &ids, row, text, skip ? NULL : err);
        if (status != BM_OK && !skip)
            return status;
        if (status != BM_OK) {
            splitter->head.counts.skipped++;
            continue;
        }
        splitter->texts[n] = text;
        splitter->hashes[n++] = id_hash(&ids, row) | splitter->known;
        if (n == SIGN_DOCS) {
            BM_TRY(sign(splitter, n, err));
            n = 0;
        }
    }
    return n > 0 ? sign(splitter, n, err) : BM_OK;
}

/* --- entries to blocks --- */

static uint32_t part_of(const bm_splitter *splitter, uint64_t hash)
{
    return (uint32_t)((hash >> PART_SHIFT) * splitter->parts >> (64 - PART_SHIFT));
}

/* All entries and ids, sorted by part. In `entries`, part p is from index entry_begins[p] to
 * entry_begins[p + 1] - 1. In `ids`, part p is from index id_begins[p] to id_begins[p + 1] - 1. */
typedef struct sorted {
    entry *entries;
    uint64_t *ids;
    size_t *entry_begins, *id_begins;
} sorted;

/* Convert sizes to offsets. Before the call, counts[p + 1] is the size of part p; after the call,
 * it is the end of part p. */
static void add_up(size_t *counts, size_t n)
{
    for (size_t p = 0; p < n; p++)
        counts[p + 1] += counts[p];
}

static void sort_by_part(const bm_splitter *s, sorted *out)
{
    for (size_t i = 0; i < s->n_entries; i++)
        out->entry_begins[part_of(s, s->entries[i].key) + 1]++;
    for (size_t i = 0; i < s->n_ids; i++)
        out->id_begins[part_of(s, s->ids[i]) + 1]++;
    add_up(out->entry_begins, s->parts);
    add_up(out->id_begins, s->parts);
    for (size_t i = 0; i < s->n_entries; i++)
        out->entries[out->entry_begins[part_of(s, s->entries[i].key)]++] = s->entries[i];
    for (size_t i = 0; i < s->n_ids; i++)
        out->ids[out->id_begins[part_of(s, s->ids[i])]++] = s->ids[i];
    /* Now entry_begins[p] and id_begins[p] are where part p + 1 begins. Shift them by one. */
    memmove(out->entry_begins + 1, out->entry_begins, s->parts * sizeof *out->entry_begins);
    memmove(out->id_begins + 1, out->id_begins, s->parts * sizeof *out->id_begins);
    out->entry_begins[0] = out->id_begins[0] = 0;
}

static void fill_block(const bm_block_head *head, const entry *entries, const uint64_t *ids,
                       char *block)
{
    char *at = block + BM_BLOCK_HEAD;
    memcpy(at, ids, head->n_ids * sizeof *ids);
    at += head->n_ids * sizeof *ids;
    char *low = at + head->n * sizeof(uint64_t), *high = low + head->n * sizeof(uint32_t);
    for (size_t i = 0; i < head->n; i++) {
        const uint32_t key = (uint32_t)entries[i].key;
        memcpy(at + i * sizeof(uint64_t), &entries[i].id_hash, sizeof(uint64_t));
        memcpy(low + i * sizeof key, &key, sizeof key);
        high[i] = (char)(entries[i].key >> 32 & 0xFF);
    }
    bm_block_seal(head, block);
}

/* Append the blocks of one part, which may have none. A block has at most BM_BLOCK_BYTES. The first
 * of all blocks has the counts, unless splitter->known is set. */
static bm_status put_part(bm_splitter *splitter, size_t part, const sorted *s, bm_block_rows *rows,
                          bm_error *err)
{
    const size_t first = s->entry_begins[part], n = s->entry_begins[part + 1] - first,
                 first_id = s->id_begins[part], n_ids = s->id_begins[part + 1] - first_id;
    if (n + n_ids == 0)
        return BM_OK;
    const size_t bytes = n * 13 + n_ids * sizeof(uint64_t),
                 most = BM_BLOCK_BYTES - BM_BLOCK_HEAD - 2 * 13, pieces = bytes / most + 1;
    for (size_t i = 0; i < pieces; i++) {
        const size_t begin = n * i / pieces, begin_id = n_ids * i / pieces;
        bm_block_head head = {.kind = BM_BLOCK_ENTRIES,
                              .n = (uint32_t)(n * (i + 1) / pieces - begin),
                              .n_ids = (uint32_t)(n_ids * (i + 1) / pieces - begin_id),
                              .settings = splitter->head.settings};
        if (rows->n == 0 && !splitter->known)
            head.counts = splitter->head.counts;
        char *block;
        BM_TRY(bm_block_rows_add(rows, part, bm_block_bytes(&head), &block, err));
        fill_block(&head, s->entries + first + begin, s->ids + first_id + begin_id, block);
    }
    return BM_OK;
}

static bm_status put_blocks(bm_splitter *splitter, bm_block_rows *rows, bm_error *err)
{
    const size_t n_begins = (size_t)splitter->parts + 1;
    sorted s = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new(&s.entries, splitter->n_entries + 1, err));
    BM_TRY_OUT(bm_new(&s.ids, splitter->n_ids + 1, err));
    BM_TRY_OUT(bm_new_zero(&s.entry_begins, n_begins, err));
    BM_TRY_OUT(bm_new_zero(&s.id_begins, n_begins, err));
    sort_by_part(splitter, &s);
    for (size_t part = 0; part < splitter->parts; part++)
        BM_TRY_OUT(put_part(splitter, part, &s, rows, err));
    const bool untold = splitter->head.counts.skipped > 0 && !splitter->known;
    if (rows->n == 0 && untold) { /* there are counts to report, but no entries */
        char *block;
        BM_TRY_OUT(bm_block_rows_add(rows, 0, bm_block_bytes(&splitter->head), &block, err));
        bm_block_seal(&splitter->head, block);
    }
out:
    bm_free_all(s.entries, s.ids, s.entry_begins, s.id_begins);
    return status;
}

bm_status bm_splitter_take(bm_splitter *splitter, struct ArrowSchema *schema,
                           struct ArrowArray *array, bm_error *err)
{
    bm_block_rows rows = {.with_parts = true};
    if (splitter == NULL || schema == NULL || array == NULL)
        return bm_fail_field(err, splitter == NULL ? "splitter" : "array",
                             "no splitter, or no place for the blocks given");
    bm_status status = put_blocks(splitter, &rows, err);
    if (status != BM_OK) {
        bm_block_rows_reset(&rows);
        return status;
    }
    BM_TRY(bm_block_rows_take(&rows, schema, array, err));
    splitter->n_entries = splitter->n_ids = 0;
    splitter->head.counts = (bm_joiner_counts){0};
    return BM_OK;
}
