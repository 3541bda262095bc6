/* SPDX-License-Identifier: Apache-2.0 */
/* result_tables.c -- has an entry for each table, and a function for each kind of row.
 *
 * Tests: tests/unit/results/test_result_tables.c, tests/cli/cases/cluster.sh,
 *        tests/cli/cases/dedup.sh, tests/cli/cases/numbered_signatures.sh */
#include "results/result_tables.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "model/file_names.h"
#include "model/ids.h"
#include "model/option_words.h"

/* The longest row has two ids with every byte escaped, a path, and a few more bytes. */
_Static_assert(4 * BM_ID_BYTES_MAX + ((size_t)1 << 20) <= BM_TABLE_ROW_MAX,
               "readers take every row that is written");

static const struct {
    const char *kind, *file;
    bm_table_head head;
} tables[BM_N_TABLES] = {
    [BM_TABLE_PAIRS] = {"pairs", BM_FILE_PAIRS, {BM_HEAD_PAIRS, 0}},
    [BM_TABLE_PAIRS_PARTS] = {"pairs", BM_FILE_PAIRS, {"id_a\tfrom_a\tid_b\tfrom_b\tjaccard", 0}},
    [BM_TABLE_CONTAINED] = {"pairs", NULL, {BM_HEAD_CONTAINED, 0}},
    [BM_TABLE_PAIRS_EDIT] = {"pairs", NULL, {BM_HEAD_PAIRS BM_HEAD_EDIT, 0}},
    [BM_TABLE_CONTAINED_EDIT] = {"pairs", NULL, {BM_HEAD_CONTAINED BM_HEAD_EDIT, 0}},
    [BM_TABLE_CUTS] = {"cuts",
                       BM_FILE_CUTS,
                       {"id\tfrom\tto\tkept\tkept_from\tjaccard\treason\tfile\tline", 0}},
    [BM_TABLE_REMOVED] = {"removed",
                          BM_FILE_REMOVED,
                          {"id\tkept\tjaccard\treason\tfile\tline\tlost", 6}},
    [BM_TABLE_SOURCES] = {"sources",
                          BM_FILE_SOURCES,
                          {"file\tfirst_row\tdocuments\tskipped\tremoved\tkept\tfrom_record", 6}},
    [BM_TABLE_SKIPPED] = {"skipped", BM_FILE_SKIPPED, {"file\tline\treason", 3}},
    [BM_TABLE_THRESHOLDS] = {"thresholds", NULL, {BM_HEAD_THRESHOLDS, 0}},
    [BM_TABLE_ANSWERS] = {"answers", NULL, {BM_HEAD_ANSWERS, 0}},
    [BM_TABLE_HOLDERS] = {"answers", NULL, {BM_HEAD_HOLDERS, 0}},
    [BM_TABLE_HISTOGRAM] = {"histogram", NULL, {BM_HEAD_HISTOGRAM, 0}},
    [BM_TABLE_OVERLAP] = {"overlap",
                          BM_FILE_OVERLAP,
                          {"id\titem\tcoverage\thits\tlongest\tfrom\tto\tfile\tline", 0}},
    [BM_TABLE_ITEMS] = {"items",
                        BM_FILE_ITEMS,
                        {"item\tshingles\tdocuments\tcoverage\ttogether\tfile\tline", 0}},
};

bm_table bm_table_of_pairs(bm_measure measure, bool edit)
{
    if (measure == BM_MEASURE_CONTAINMENT)
        return edit ? BM_TABLE_CONTAINED_EDIT : BM_TABLE_CONTAINED;
    return edit ? BM_TABLE_PAIRS_EDIT : BM_TABLE_PAIRS;
}

bm_table bm_table_of_answers(bm_measure measure)
{
    return measure == BM_MEASURE_CONTAINMENT ? BM_TABLE_HOLDERS : BM_TABLE_ANSWERS;
}

bm_table_head bm_table_head_of(bm_table table)
{
    return tables[table].head;
}

const char *bm_table_header(bm_table table)
{
    return tables[table].head.columns;
}

const char *bm_table_file(bm_table table)
{
    return tables[table].file;
}

const char *bm_table_kind(bm_table table)
{
    return tables[table].kind;
}

/* Does the line have this header? It must have the columns that files of every version have. After
 * them it may have newer columns: all of them or only the first, in order. */
static bool is_head(bm_table_head head, bm_str line)
{
    size_t n_columns = 1;
    for (size_t i = 0; i < line.len; i++)
        n_columns += line.data[i] == '\t';
    const size_t len = strlen(head.columns);
    return line.len <= len && memcmp(line.data, head.columns, line.len) == 0 &&
           (line.len == len ||
            (head.n_old > 0 && n_columns >= head.n_old && head.columns[line.len] == '\t'));
}

bm_table bm_table_of_header(bm_str line)
{
    unsigned table = 0;
    while (table < BM_N_TABLES && !is_head(tables[table].head, line))
        table++;
    return (bm_table)table;
}

bm_status bm_table_begin(bm_buf *out, bm_table table, bm_error *err)
{
    return bm_buf_add_format(out, err, "%s\n", tables[table].head.columns);
}

bm_status bm_table_begin_old(bm_buf *out, bm_table table, bm_error *err)
{
    const bm_table_head head = tables[table].head;
    size_t len = 0, n = 0;
    while (head.columns[len] != '\0' && (head.columns[len] != '\t' || ++n < head.n_old))
        len++;
    BM_TRY(bm_buf_add(out, head.columns, len, err));
    return bm_buf_add(out, "\n", 1, err);
}

bool bm_table_jaccard(bm_str field, uint32_t *millionths)
{
    uint32_t value = 0;
    *millionths = BM_JACCARD_UNKNOWN;
    if (field.len == 0)
        return true;
    if ((field.len != 8 && field.len != 2 + BM_ALL_DECIMALS) || field.data[1] != '.')
        return false;
    for (size_t i = 0; i < field.len; i++) {
        if (i != 1 && (unsigned)field.data[i] - '0' > 9)
            return false;
        if (i != 1 && i < 8)
            value = value * 10 + (uint32_t)(field.data[i] - '0');
    }
    value += field.len > 8 && field.data[8] >= '5';
    if (value > 1000000)
        return false;
    *millionths = value;
    return true;
}

bool bm_table_similarity(bm_str field, double *out)
{
    uint32_t millionths;
    const bool ours = bm_table_jaccard(field, &millionths);
    if (ours)
        *out = millionths == BM_JACCARD_UNKNOWN ? NAN : millionths / 1e6;
    return ours;
}

/* --- fields --- */

static bm_str text_of(const char *text)
{
    return (bm_str){text, strlen(text)};
}

/* Write a field, escaped, and the tab or newline after it. */
static bm_status add_field(bm_buf *out, bm_str field, char end, bm_error *err)
{
    BM_TRY(bm_tsv_escape(out, field, err));
    return bm_buf_add(out, &end, 1, err);
}

static bm_status add_uint(bm_buf *out, uint64_t number, bm_error *err)
{
    char digits[BM_UINT_DIGITS];
    const bm_str text = bm_uint_text(number, digits);
    return bm_buf_add(out, text.data, text.len, err);
}

static bm_status add_all_digits(bm_buf *out, double similarity, bm_error *err)
{
    return isnan(similarity)
               ? BM_OK
               : bm_buf_add_format(out, err, "%.*f", (int)BM_ALL_DECIMALS, similarity);
}

/* Write six decimals, or nothing if the number is unknown (NaN). The text is the same as from
 * printf, and takes a tenth of the time. The error of `millionths` is at most 2^-33. So printf is
 * needed only if `millionths` is close to the middle between two whole numbers. */
static bm_status add_similarity(bm_buf *out, double similarity, bm_error *err)
{
    if (isnan(similarity))
        return BM_OK;
    const double millionths = similarity * 1e6, below = floor(millionths);
    if (!(similarity >= 0 && similarity <= 1) || fabs(millionths - below - 0.5) < 1e-6)
        return bm_buf_add_format(out, err, "%.6f", similarity);
    uint32_t number = (uint32_t)(below + (millionths - below > 0.5));
    char text[8];
    for (size_t i = sizeof text - 1; i > 1; i--, number /= 10)
        text[i] = (char)('0' + number % 10);
    text[1] = '.';
    text[0] = (char)('0' + number);
    return bm_buf_add(out, text, sizeof text, err);
}

/* --- rows --- */

bm_status bm_pair_line_add(bm_buf *out, const bm_pair_line *line, bm_error *err)
{
    BM_TRY(add_field(out, line->id_a, '\t', err));
    if (line->of_parts)
        BM_TRY(bm_buf_add_format(out, err, "%" PRIu64 "\t", line->from_a));
    BM_TRY(add_field(out, line->id_b, '\t', err));
    if (line->of_parts)
        BM_TRY(bm_buf_add_format(out, err, "%" PRIu64 "\t", line->from_b));
    BM_TRY((line->all_digits ? add_all_digits : add_similarity)(out, line->similarity, err));
    if (line->has_edit && line->edit != UINT64_MAX)
        return bm_buf_add_format(out, err, "\t%" PRIu64 "\n", line->edit);
    return line->has_edit ? bm_buf_add(out, "\t\n", 2, err) : bm_buf_add(out, "\n", 1, err);
}

/* Write a row as an object of JSON Lines; `names` are the keys of the two ids. */
static bm_status add_two_json(bm_buf *out, const char *const names[2], const bm_pair_line *line,
                              bm_error *err)
{
    bm_json json = {0};
    bm_json_begin_object(&json);
    bm_json_key(&json, names[0]);
    bm_json_string(&json, line->id_a);
    bm_json_key(&json, names[1]);
    bm_json_string(&json, line->id_b);
    bm_json_key_double(&json, bm_option_name(BM_OPTION_MEASURE, line->measure), line->similarity);
    if (line->has_edit) {
        bm_json_key(&json, "edit");
        if (line->edit != UINT64_MAX)
            bm_json_uint(&json, line->edit);
        else
            bm_json_text(&json, NULL);
    }
    bm_json_end_object(&json);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_finish(&json, err));
    status = bm_buf_add(out, json.buf.data, json.buf.len, err);
out:
    bm_buf_reset(&json.buf);
    return status;
}

bm_status bm_pair_line_add_json(bm_buf *out, const bm_pair_line *line, bm_error *err)
{
    return add_two_json(out, (const char *const[]){"id_a", "id_b"}, line, err);
}

bm_status bm_answer_line_add_json(bm_buf *out, const bm_pair_line *line, bm_error *err)
{
    return add_two_json(out, (const char *const[]){"query", "target"}, line, err);
}

bm_status bm_removed_line_add(bm_buf *out, const bm_removed_line *line, bm_error *err)
{
    BM_TRY(add_field(out, line->id, '\t', err));
    BM_TRY(add_field(out, line->kept, '\t', err));
    BM_TRY((line->all_digits ? add_all_digits : add_similarity)(out, line->jaccard, err));
    BM_TRY(bm_buf_add(out, "\t", 1, err));
    BM_TRY(add_field(out, text_of(line->reason), '\t', err));
    BM_TRY(add_field(out, text_of(line->file), '\t', err));
    if (line->line != 0)
        BM_TRY(add_uint(out, line->line, err));
    BM_TRY(bm_buf_add(out, "\t", 1, err));
    if (line->lost != UINT64_MAX)
        BM_TRY(add_uint(out, line->lost, err));
    return bm_buf_add(out, "\n", 1, err);
}

bm_status bm_overlap_line_add(bm_buf *out, const bm_overlap_line *line, bm_error *err)
{
    BM_TRY(add_field(out, line->id, '\t', err));
    BM_TRY(add_field(out, line->item, '\t', err));
    BM_TRY(add_similarity(out, line->coverage, err));
    BM_TRY(bm_buf_add_format(out, err, "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t",
                             line->hits, line->longest, line->from, line->to));
    BM_TRY(add_field(out, text_of(line->file), '\t', err));
    BM_TRY(add_uint(out, line->line, err));
    return bm_buf_add(out, "\n", 1, err);
}

bm_status bm_item_line_add(bm_buf *out, const bm_item_line *line, bm_error *err)
{
    BM_TRY(add_field(out, line->item, '\t', err));
    BM_TRY(
        bm_buf_add_format(out, err, "%" PRIu64 "\t%" PRIu64 "\t", line->shingles, line->documents));
    BM_TRY(add_similarity(out, line->coverage, err));
    BM_TRY(bm_buf_add(out, "\t", 1, err));
    BM_TRY(add_similarity(out, line->together, err));
    BM_TRY(bm_buf_add(out, "\t", 1, err));
    BM_TRY(add_field(out, text_of(line->file), '\t', err));
    BM_TRY(add_uint(out, line->line, err));
    return bm_buf_add(out, "\n", 1, err);
}

bm_status bm_cut_line_add(bm_buf *out, const bm_cut_line *line, bm_error *err)
{
    BM_TRY(add_field(out, line->id, '\t', err));
    BM_TRY(bm_buf_add_format(out, err, "%" PRIu64 "\t%" PRIu64 "\t", line->from, line->to));
    BM_TRY(add_field(out, line->kept, '\t', err));
    if (line->kept_from != UINT64_MAX)
        BM_TRY(bm_buf_add_format(out, err, "%" PRIu64, line->kept_from));
    BM_TRY(bm_buf_add(out, "\t", 1, err));
    BM_TRY((line->all_digits ? add_all_digits : add_similarity)(out, line->jaccard, err));
    BM_TRY(bm_buf_add(out, "\t", 1, err));
    BM_TRY(add_field(out, text_of(line->reason), '\t', err));
    BM_TRY(add_field(out, text_of(line->file), '\t', err));
    return bm_buf_add_format(out, err, "%" PRIu64 "\n", line->line);
}

bm_status bm_source_line_add(bm_buf *out, const bm_source_line *line, bm_error *err)
{
    BM_TRY(add_field(out, text_of(line->file), '\t', err));
    BM_TRY(bm_buf_add_format(
        out, err, "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64, line->first_row,
        line->documents, line->skipped, line->removed, line->documents - line->removed));
    return line->of_share ? bm_buf_add_format(out, err, "\t%" PRIu64 "\n", line->from_record)
                          : bm_buf_add(out, "\n", 1, err);
}

bm_status bm_skipped_line_add(bm_buf *out, const bm_skipped_line *line, bm_error *err)
{
    BM_TRY(add_field(out, text_of(line->file), '\t', err));
    BM_TRY(bm_buf_add_format(out, err, "%" PRIu64 "\t", line->line));
    return add_field(out, text_of(line->reason), '\n', err);
}

bm_status bm_threshold_line_add(bm_buf *out, const bm_threshold_line *line, bm_error *err)
{
    bm_json number = {0};
    /* the shortest text that reads back as the same double */
    bm_json_double(&number, line->threshold);
    bm_status status = BM_OK;
    BM_TRY_OUT(number.status == BM_OK ? BM_OK : bm_fail_nomem(err, number.buf.len));
    BM_TRY_OUT(bm_buf_add(out, number.buf.data, number.buf.len, err));
    status = bm_buf_add_format(out, err, "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
                               line->pairs, line->groups, line->largest, line->removed);
out:
    bm_buf_reset(&number.buf);
    return status;
}

/* --- groups --- */

void bm_group_line_begin(bm_json *json, uint64_t group, bm_str kept, uint64_t size)
{
    json->buf.len = 0;
    json->comma = false;
    bm_json_begin_object(json);
    bm_json_key_uint(json, BM_GROUP_NUMBER, group);
    bm_json_key(json, BM_GROUP_KEPT);
    if (kept.data != NULL)
        bm_json_string(json, kept);
    else
        bm_json_text(json, NULL);
    bm_json_key_uint(json, BM_GROUP_SIZE, size);
    bm_json_key(json, BM_GROUP_MEMBERS);
    bm_json_begin_array(json);
}

void bm_group_line_known(bm_json *json)
{
    bm_json_end_array(json);
    bm_json_key(json, BM_GROUP_KNOWN);
    bm_json_begin_array(json);
}

bm_status bm_group_line_end(bm_json *json, bm_buf *out, bm_error *err)
{
    bm_json_end_array(json);
    bm_json_end_object(json);
    BM_TRY(bm_json_finish(json, err));
    return bm_buf_add(out, json->buf.data, json->buf.len, err);
}
