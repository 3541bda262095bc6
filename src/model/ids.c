/* SPDX-License-Identifier: Apache-2.0 */
/* ids.c -- finds documents by number and by id.
 *
 * Tests: tests/unit/model/test_doc_table.c, tests/unit/model/test_id_set.c,
 *        tests/unit/model/test_id_kind.c, tests/unit/model/test_next_numbers.c,
 *        tests/unit/model/test_numbered_id.c, tests/unit/model/test_pair_order.c */
#include "model/ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

/* === id kind === */

static const char *const kind_words[] = {NULL, "text", "int64", "uint64", "rows"};

const char *bm_id_kind_word(bm_id_kind kind)
{
    return kind_words[kind];
}

bm_id_kind bm_id_kind_of(const char *word)
{
    for (bm_id_kind kind = BM_IDS_TEXT; kind <= BM_IDS_ROWS; kind++)
        if (word != NULL && strcmp(word, kind_words[kind]) == 0)
            return kind;
    return BM_IDS_UNTYPED;
}

/* Read a number of at most `most`. False: it is empty, has a leading zero, is too large, or has
 * characters that are not decimal digits. */
static bool read_number(bm_str digits, uint64_t most, uint64_t *out)
{
    *out = 0;
    if (digits.len == 0 || digits.len > 20 || (digits.data[0] == '0' && digits.len > 1))
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        const unsigned digit = (unsigned)(digits.data[i] - '0');
        if (digit > 9 || *out > (most - digit) / 10)
            return false;
        *out = *out * 10 + digit;
    }
    return true;
}

bool bm_id_is_of(bm_str id, bm_id_kind kind)
{
    uint64_t number;
    if (kind == BM_IDS_UNTYPED || kind == BM_IDS_TEXT)
        return true;
    if (kind == BM_IDS_INT64 && id.len > 1 && id.data[0] == '-')
        return read_number((bm_str){id.data + 1, id.len - 1}, (uint64_t)INT64_MAX + 1, &number) &&
               number > 0;
    return read_number(id, kind == BM_IDS_UINT64 ? UINT64_MAX : INT64_MAX, &number);
}

void bm_next_id_pass(uint64_t *next, bm_str id)
{
    uint64_t number;
    if (*next != BM_NEXT_ID_UNKNOWN && read_number(id, INT64_MAX - 1, &number) && number >= *next)
        *next = number + 1;
}

/* === id set ===
 *
 * One block has the text of all ids, and a hash table has their numbers (base/hash_table.h). An id
 * takes 19 to 29 bytes in addition to its text. */

void bm_id_set_reset(bm_id_set *set)
{
    bm_buf_reset(&set->text);
    bm_free(set->ends);
    bm_hash_table_reset(&set->table);
    memset(set, 0, sizeof *set);
}

bm_str bm_id_set_id(const bm_id_set *set, uint32_t number)
{
    uint64_t begin = number == 0 ? 0 : set->ends[number - 1];
    if (set->ends[number] == begin) /* if all ids are empty, set->text has no bytes */
        return (bm_str){"", 0};
    return (bm_str){set->text.data + begin, (size_t)(set->ends[number] - begin)};
}

static uint64_t hash_again(const void *owner, uint32_t number, uint64_t seed)
{
    const bm_str id = bm_id_set_id(owner, number);
    return XXH3_64bits_withSeed(id.data, id.len, seed);
}

static bool has_id(const void *owner, uint32_t number, const void *key)
{
    const bm_str other = bm_id_set_id(owner, number), id = *(const bm_str *)key;
    return other.len == id.len && (id.len == 0 || memcmp(other.data, id.data, id.len) == 0);
}

static uint64_t hash_of(const bm_hash_table *table, bm_doc_id id)
{
    return table->seed == 0 ? id.hash
                            : XXH3_64bits_withSeed(id.text.data, id.text.len, table->seed);
}

/* The slot of an id in `table`, which is the table of the set or a shard. If the id is not in the
 * table, the free slot where it belongs. */
static size_t find(const bm_id_set *set, const bm_hash_table *table, bm_doc_id id)
{
    return bm_hash_table_find(table, hash_of(table, id), has_id, set, &id.text);
}

/* Append an id. `slot` is the free slot where it belongs. */
static bm_status append_id(bm_id_set *set, bm_hash_table *table, bm_doc_id id, size_t slot,
                           bm_error *err)
{
    BM_TRY(bm_grow_array(&set->ends, &set->cap, set->n + 1, err));
    BM_TRY(bm_buf_add(&set->text, id.text.data, id.text.len, err));
    set->ends[set->n] = set->text.len;
    bm_hash_table_put(table, slot, hash_of(table, id), (uint32_t)set->n++);
    return BM_OK;
}

uint64_t bm_id_set_bytes(uint64_t n, uint64_t text_bytes)
{
    return text_bytes + n * sizeof(uint64_t) + bm_hash_table_bytes(n) * 15 / 8;
}

bm_status bm_id_set_add(bm_id_set *set, bm_str text, uint32_t *number, bm_error *err)
{
    const bm_doc_id id = {text, XXH3_64bits(text.data, text.len)};
    BM_TRY(bm_hash_table_reserve(&set->table, hash_again, set, err));
    const size_t slot = find(set, &set->table, id);
    if (bm_hash_table_is_free(&set->table, slot)) {
        if (set->n >= BM_DOCS_MAX)
            return bm_fail(err, BM_ERR_INPUT, "more than %u documents in one run",
                           (unsigned)BM_DOCS_MAX);
        BM_TRY(append_id(set, &set->table, id, slot, err));
    }
    *number = bm_hash_table_number(&set->table, slot);
    return BM_OK;
}

uint32_t bm_id_set_find(const bm_id_set *set, bm_str id)
{
    if (set->n == 0)
        return BM_ID_NONE;
    const size_t slot = find(set, &set->table, (bm_doc_id){id, XXH3_64bits(id.data, id.len)});
    return bm_hash_table_is_free(&set->table, slot) ? BM_ID_NONE
                                                    : bm_hash_table_number(&set->table, slot);
}

/* === doc table ===
 *
 * The rows, their ids, and the shards in which ids are looked up.
 *
 * The memory limit is compared with the size that a single table of all ids would have. If hashes
 * are evenly distributed, the shards together have this size. Unlike their real size, this size
 * does not depend on the progress of each thread.
 *
 * If rows and ids would take more than a part of the memory, their columns continue in files. While
 * rows are added or read, pages of the files are removed from memory now and then. */

#define CHECK_ROWS 1024u /* between two checks of the memory */
/* number of rows: a thread remembers for which rows it last removed pages */
#define LAST_LEFT 4u

void bm_doc_shard_list_fill(const uint64_t *first_hash, size_t stride, size_t n,
                            bm_doc_shard_list *out)
{
    const char *hashes = (const char *)first_hash;
    uint32_t at[BM_DOC_SHARDS] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++)
        at[bm_doc_shard(*(const uint64_t *)(const void *)(hashes + i * stride))]++;
    for (uint32_t s = 0; s < BM_DOC_SHARDS; s++) {
        const uint32_t many = at[s];
        out->begin[s] = at[s] = sum;
        sum += many;
    }
    out->begin[BM_DOC_SHARDS] = sum;
    for (size_t i = 0; i < n; i++)
        out->docs[at[bm_doc_shard(*(const uint64_t *)(const void *)(hashes + i * stride))]++] =
            (uint32_t)i;
}

static void reset_shards(bm_doc_table *table)
{
    for (size_t i = 0; i < BM_DOC_SHARDS; i++)
        bm_hash_table_reset(&table->shards[i]);
}

void bm_doc_table_leave(const bm_doc_table *table)
{
    bm_column_leave(&table->columns.rows);
    bm_column_leave(&table->columns.ends);
    bm_column_leave(&table->columns.text);
}

void bm_doc_table_leave_for(const bm_doc_table *table, size_t row)
{
    static _Thread_local struct {
        const bm_doc_table *table;
        size_t row;
    } last[LAST_LEFT]; /* the rows for which this thread removed pages last */
    const size_t i = row / BM_DOC_LEAVE_ROWS % LAST_LEFT;
    if (last[i].table == table && last[i].row == row)
        return;
    last[i].table = table;
    last[i].row = row;
    bm_doc_table_leave(table);
}

void bm_doc_table_reset(bm_doc_table *table)
{
    for (size_t i = 0; i < table->n_skipped; i++)
        bm_free(table->skipped[i].reason);
    bm_free(table->skipped);
    bm_column_reset(&table->columns.rows);
    bm_column_reset(&table->columns.ends);
    bm_column_reset(&table->columns.text);
    reset_shards(table);
    bm_next_numbers_reset(&table->next);
    memset(table, 0, sizeof *table);
}

static uint64_t shard_bytes(size_t n)
{
    return n > 0 ? bm_hash_table_bytes(n) : 0;
}

uint64_t bm_doc_table_shard_bytes(const bm_doc_table *table)
{
    return table->ended ? 0 : shard_bytes(table->n);
}

/* The bytes of memory that rows and ids may use before their columns continue in files. The file
 * pages in memory may then use as many bytes again. */
static uint64_t file_part(const bm_doc_table *table)
{
    return table->memory / BM_DOC_FILE_PART / 2;
}

static uint64_t next_numbers_bytes(const bm_next_numbers *numbers)
{
    return numbers->cap * sizeof *numbers->list +
           numbers->table.n_slots * sizeof *numbers->table.slots;
}

static uint64_t bytes_of(const bm_doc_table *table, const bm_doc_sums *all)
{
    bm_column_sums sums = {0};
    bm_column_sum(&table->columns.rows, all->docs * sizeof *table->rows, &sums);
    bm_column_sum(&table->columns.ends, all->docs * sizeof *table->ids.ends, &sums);
    bm_column_sum(&table->columns.text, all->id_bytes, &sums);
    return bm_column_held(&sums, file_part(table)) + all->skipped * sizeof *table->skipped +
           all->reason_bytes + next_numbers_bytes(&table->next);
}

static bm_doc_sums sums_of(const bm_doc_table *table)
{
    return (bm_doc_sums){.docs = table->n,
                         .id_bytes = table->ids.text.len,
                         .skipped = table->n_skipped,
                         .reason_bytes = table->reason_bytes};
}

uint64_t bm_doc_table_bytes(const bm_doc_table *table)
{
    const bm_doc_sums all = sums_of(table);
    return bytes_of(table, &all) + bm_doc_table_shard_bytes(table);
}

void bm_doc_table_end_adding(bm_doc_table *table)
{
    reset_shards(table);
    table->ended = true;
    bm_next_numbers_reset(&table->next);
}

bm_str bm_doc_table_id(const bm_doc_table *table, size_t row)
{
    bm_doc_table_pass(table, row);
    return bm_id_set_id(&table->ids, (uint32_t)row);
}

bm_str bm_doc_table_id_anywhere(const bm_doc_table *table, size_t row, bm_buf *room)
{
    const bm_column *ends = &table->columns.ends, *text = &table->columns.text;
    uint64_t of[2] = {0}; /* where the id begins and ends in `text` */
    const size_t first = row > 0 ? row - 1 : 0, n = row - first + 1;
    room->len = 0;
    if (!bm_column_read(ends, of + 2 - n, n * sizeof *of, first * sizeof *of) ||
        bm_buf_reserve(room, of[1] - of[0], NULL) != BM_OK ||
        !bm_column_read(text, room->data, of[1] - of[0], of[0]))
        return bm_doc_table_id(table, row);
    return (bm_str){room->data, of[1] - of[0]};
}

/* Fail because the table is too large. The message states how much `memory` is needed for the
 * documents so far, since later documents are not known yet. This amount is enough, because the
 * table's part of `memory` grows at least in proportion to `memory`. */
static bm_status too_large(const bm_doc_table *table, uint64_t needed, bm_error *err)
{
    const double least = (double)needed * (double)table->memory_all / (double)table->memory;
    return bm_fail(err, BM_ERR_NOMEM,
                   "the first %zu documents and %zu bad records do not fit into `memory` of %lluM "
                   "(at least %lluM)",
                   table->n, table->n_skipped, (unsigned long long)(table->memory_all >> 20),
                   (unsigned long long)(least / (1 << 20)) + 1);
}

/* Fail unless the memory is enough for `more` additional documents (0 or 1). */
static bm_status check_bytes(const bm_doc_table *table, size_t more, bm_error *err)
{
    const bm_doc_sums all = sums_of(table);
    const uint64_t bytes = bytes_of(table, &all) + shard_bytes(table->n + more);
    return table->memory != 0 && bytes > table->memory ? too_large(table, bytes, err) : BM_OK;
}

static bm_status reserve(bm_doc_table *table, bm_hash_table *shard, bm_error *err)
{
    if (table->memory != 0 && shard_bytes(table->n + 1) > shard_bytes(table->n))
        BM_TRY(check_bytes(table, 1, err));
    return bm_hash_table_reserve(shard, hash_again, &table->ids, err);
}

/* Find the shard of an id, and reserve space for one more id in it. */
static bm_status find_shard(bm_doc_table *table, uint64_t hash, bm_hash_table **out, bm_error *err)
{
    *out = &table->shards[bm_doc_shard(hash)];
    return reserve(table, *out, err);
}

/* Set *out to the next free id#N for the id of row `first`. `text` receives the bytes of the new
 * id. */
static bm_status next_free(bm_doc_table *table, uint32_t first, bm_buf *text, bm_doc_id *out,
                           bm_error *err)
{
    const bm_str id = bm_doc_table_id(table, first);
    uint32_t *number;
    BM_TRY(bm_next_numbers_of(&table->next, first, &number, err));
    BM_TRY(bm_buf_add(text, id.data, id.len, err));
    for (;; (*number)++) {
        text->len = id.len;
        BM_TRY(bm_buf_add_format(text, err, "#%" PRIu32, *number));
        *out = (bm_doc_id){{text->data, text->len}, XXH3_64bits(text->data, text->len)};
        table->n_tried++;
        bm_hash_table *shard;
        BM_TRY(find_shard(table, out->hash, &shard, err));
        if (bm_hash_table_is_free(shard, find(&table->ids, shard, *out)))
            return BM_OK;
    }
}

/* Grow the columns, so that they have space for the rows and ids in `all`. The arrays never move:
 * their addresses change only once, from NULL, and only this thread can observe this. */
static bm_status grow(bm_doc_table *table, const bm_doc_sums *all, bm_error *err)
{
    bm_id_set *ids = &table->ids;
    const size_t rows = all->docs * sizeof *table->rows, ends = all->docs * sizeof *ids->ends;
    const bool apart = table->memory != 0 && rows + ends + all->id_bytes > file_part(table);
    const char *dir = apart ? table->temp_dir : NULL;
    BM_TRY(bm_column_grow(&table->columns.rows, rows, dir, err));
    BM_TRY(bm_column_grow(&table->columns.ends, ends, dir, err));
    BM_TRY(bm_column_grow(&table->columns.text, all->id_bytes, dir, err));
    if (table->rows == NULL)
        table->rows = table->columns.rows.data;
    if (ids->ends == NULL)
        ids->ends = table->columns.ends.data;
    if (ids->text.data == NULL)
        ids->text.data = table->columns.text.data;
    ids->cap = atomic_load(&table->columns.ends.bytes) / sizeof *ids->ends;
    ids->text.cap = atomic_load(&table->columns.text.bytes);
    return BM_OK;
}

/* Remove rows from memory that were added since the last time, if they are many. */
static void leave_added(bm_doc_table *table)
{
    const size_t n = table->n - table->columns.n_left;
    if (n * sizeof *table->rows > file_part(table) / 4) {
        bm_doc_table_leave(table);
        table->columns.n_left = table->n;
    }
}

/* Append a row and its id. `slot` is the free slot for the id, in the shard of the id. */
static bm_status append(bm_doc_table *table, const bm_doc_row *row, bm_doc_id id, size_t slot,
                        bm_error *err)
{
    if (table->n % CHECK_ROWS == 0)
        BM_TRY(check_bytes(table, 1, err));
    if (table->n % CHECK_ROWS == 0)
        leave_added(table);
    const bm_doc_sums all = {.docs = table->n + 1, .id_bytes = table->ids.text.len + id.text.len};
    BM_TRY(grow(table, &all, err));
    BM_TRY(append_id(&table->ids, &table->shards[bm_doc_shard(id.hash)], id, slot, err));
    table->rows[table->n++] = *row;
    return BM_OK;
}

bm_status bm_doc_table_repeated(const bm_doc_table *table, const bm_doc_row *row, uint32_t first,
                                const char *file_name, bm_error *err)
{
    const bm_doc_row *other = &table->rows[first];
    const bm_str id = bm_doc_table_id(table, first);
    const int len = (int)(id.len > 200 ? 200 : id.len);
    char place[400] = "before";
    if (table->files != NULL && other->file < table->files->n) {
        const char *name = table->files->names[other->file];
        int used = snprintf(place, sizeof place, "before, at %.350s", name);
        if (other->line > 0)
            snprintf(place + used, sizeof place - (size_t)used, ":%" PRIu64, other->line);
    }
    return bm_fail_at(err, BM_ERR_INPUT, file_name, row->line,
                      "the id '%.*s' was seen %s (ids must differ; `duplicate_ids` number makes "
                      "them so)",
                      len, id.data, place);
}

bm_status bm_doc_table_add(bm_doc_table *table, const bm_doc_row *row, bm_doc_id id,
                           const char *file_name, bm_error *err)
{
    if (table->n >= BM_DOCS_MAX)
        return bm_fail_at(err, BM_ERR_INPUT, file_name, row->line,
                          "more than %u documents in one run", (unsigned)BM_DOCS_MAX);
    bm_hash_table *shard;
    BM_TRY(find_shard(table, id.hash, &shard, err));
    const size_t slot = find(&table->ids, shard, id);
    if (bm_hash_table_is_free(shard, slot))
        return append(table, row, id, slot, err);
    const uint32_t first = bm_hash_table_number(shard, slot);
    if (!table->number_duplicates)
        return bm_doc_table_repeated(table, row, first, file_name, err);
    bm_buf text = {0};
    bm_doc_id numbered;
    bm_status status = BM_OK;
    BM_TRY_OUT(next_free(table, first, &text, &numbered, err));
    shard = &table->shards[bm_doc_shard(numbered.hash)];
    status = append(table, row, numbered, find(&table->ids, shard, numbered), err);
out:
    bm_buf_reset(&text);
    return status;
}

void bm_doc_table_expect(const bm_doc_table *table, uint64_t id_hash)
{
    bm_hash_table_fetch(&table->shards[bm_doc_shard(id_hash)], id_hash);
}

void bm_doc_table_begin(bm_doc_table *table)
{
    table->reserved = sums_of(table);
}

/* The sums over the batch and all rows, including those reserved ahead. */
static bm_doc_sums with_batch(const bm_doc_table *table, const bm_doc_sums *batch)
{
    return (bm_doc_sums){.docs = table->reserved.docs + batch->docs,
                         .skipped = table->reserved.skipped + batch->skipped,
                         .id_bytes = table->reserved.id_bytes + batch->id_bytes,
                         .reason_bytes = table->reserved.reason_bytes + batch->reason_bytes};
}

uint64_t bm_doc_table_bytes_with(const bm_doc_table *table, const bm_doc_sums *batch,
                                 uint64_t *shards)
{
    const bm_doc_sums all = with_batch(table, batch);
    *shards = shard_bytes(all.docs);
    return bytes_of(table, &all) + *shards;
}

bool bm_doc_table_may_reserve(const bm_doc_table *table, const bm_doc_sums *batch)
{
    uint64_t shards;
    if (table->number_duplicates || table->reserved.docs + batch->docs > BM_DOCS_MAX)
        return false;
    return table->memory == 0 || bm_doc_table_bytes_with(table, batch, &shards) <= table->memory;
}

bm_status bm_doc_table_make_room(bm_doc_table *table, const bm_doc_sums *batch, bm_error *err)
{
    const bm_doc_sums all = with_batch(table, batch);
    return grow(table, &all, err);
}

size_t bm_doc_table_reserve(bm_doc_table *table, const bm_doc_sums *batch, uint64_t *text)
{
    const size_t first = table->reserved.docs;
    *text = table->reserved.id_bytes;
    table->reserved = with_batch(table, batch);
    return first;
}

bm_status bm_doc_table_enter(bm_doc_table *table, uint32_t row, uint64_t id_hash, uint32_t *first,
                             bm_error *err)
{
    bm_hash_table *shard = &table->shards[bm_doc_shard(id_hash)];
    BM_TRY(bm_hash_table_reserve(shard, hash_again, &table->ids, err));
    const bm_doc_id id = {bm_doc_table_id(table, row), id_hash};
    const size_t slot = find(&table->ids, shard, id);
    *first = row;
    if (bm_hash_table_is_free(shard, slot))
        bm_hash_table_put(shard, slot, hash_of(shard, id), row);
    else
        *first = bm_hash_table_number(shard, slot);
    return BM_OK;
}

void bm_doc_table_accept(bm_doc_table *table, const bm_doc_sums *batch)
{
    table->n += batch->docs;
    table->ids.n = table->n;
    table->ids.text.len += batch->id_bytes;
    leave_added(table);
}

/* The result includes the overhead of the allocation of the reason. */
uint64_t bm_doc_table_reason_bytes(const bm_skipped *skipped)
{
    return strlen(skipped->reason) + 1 + 2 * sizeof(void *);
}

bm_status bm_doc_table_skip(bm_doc_table *table, const bm_skipped *skipped, bm_error *err)
{
    if (table->n_skipped % CHECK_ROWS == 0)
        BM_TRY(check_bytes(table, 0, err));
    BM_TRY(bm_grow_array(&table->skipped, &table->cap_skipped, table->n_skipped + 1, err));
    table->skipped[table->n_skipped++] = *skipped;
    table->reason_bytes += bm_doc_table_reason_bytes(skipped);
    table->n_swallowing += skipped->n_behind > 0;
    return BM_OK;
}

void bm_doc_table_cut(bm_doc_table *table, size_t n_rows, size_t n_skipped)
{
    while (table->n_skipped > n_skipped) {
        table->reason_bytes -= bm_doc_table_reason_bytes(&table->skipped[--table->n_skipped]);
        bm_free(table->skipped[table->n_skipped].reason);
    }
    table->ids.text.len = n_rows == 0 ? 0 : (size_t)table->ids.ends[n_rows - 1];
    table->ids.n = table->n = n_rows;
}

/* === numbered id ===
 *
 * The digits are read from the end back to the '#'. */

bool bm_numbered_id(bm_str id, bm_str *base, uint32_t *number)
{
    uint64_t value = 0, unit = 1;
    size_t at = id.len;
    for (; at > 0 && id.data[at - 1] >= '0' && id.data[at - 1] <= '9' && unit < 10000000000u;
         unit *= 10)
        value += unit * (uint64_t)(id.data[--at] - '0');
    if (at == 0 || at == id.len || id.data[at - 1] != '#' || id.data[at] == '0' || value < 2 ||
        value > UINT32_MAX)
        return false;
    *base = (bm_str){id.data, at - 1};
    *number = (uint32_t)value;
    return true;
}

/* === next numbers ===
 *
 * There is a list of the repeated ids, and a hash table that finds an entry of the list by its row.
 * Both are empty until an id is repeated. */

void bm_next_numbers_reset(bm_next_numbers *numbers)
{
    bm_free(numbers->list);
    bm_hash_table_reset(&numbers->table);
    *numbers = (bm_next_numbers){0};
}

static uint64_t hash_row_again(const void *owner, uint32_t number, uint64_t seed)
{
    return bm_hash_seeded(((const bm_next_numbers *)owner)->list[number].row, 0, seed);
}

static bool has_row(const void *owner, uint32_t number, const void *key)
{
    return ((const bm_next_numbers *)owner)->list[number].row == *(const uint32_t *)key;
}

bm_status bm_next_numbers_of(bm_next_numbers *numbers, uint32_t row, uint32_t **out, bm_error *err)
{
    bm_hash_table *table = &numbers->table;
    BM_TRY(bm_hash_table_reserve(table, hash_row_again, numbers, err));
    BM_TRY(bm_grow_array(&numbers->list, &numbers->cap, table->n + 1, err));
    const uint64_t hash =
        table->seed == 0 ? row * UINT64_C(0x9E3779B97F4A7C15) : bm_hash_seeded(row, 0, table->seed);
    const size_t at = bm_hash_table_find(table, hash, has_row, numbers, &row);
    if (bm_hash_table_is_free(table, at)) {
        numbers->list[table->n] = (bm_next_number){row, 2};
        bm_hash_table_put(table, at, hash, (uint32_t)table->n);
    }
    *out = &numbers->list[bm_hash_table_number(table, at)].number;
    return BM_OK;
}

/* === pair order ===
 *
 * Compares pairs by their documents, and converts a similarity to bits and back. */

int bm_pair_by_place(const void *x, const void *y)
{
    const bm_pair *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return p->b < q->b ? -1 : p->b > q->b;
}

uint64_t bm_edge_bits(double similarity)
{
    uint64_t bits;
    memcpy(&bits, &similarity, sizeof bits);
    return bits;
}

double bm_edge_similarity(uint64_t bits)
{
    double similarity;
    memcpy(&similarity, &bits, sizeof similarity);
    return similarity;
}

bm_pair bm_pair_of_key(uint64_t key, uint64_t bits)
{
    return (bm_pair){
        .a = (uint32_t)(key >> 32), .b = (uint32_t)key, .similarity = bm_edge_similarity(bits)};
}
