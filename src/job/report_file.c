/* SPDX-License-Identifier: Apache-2.0 */
/* report_file.c -- writes reports and manifests. Each section has a function; the functions are in
 * the order of the sections in a report.
 *
 * Tests: tests/cli/cases/bad_records.sh, tests/cli/cases/dedup.sh, tests/cli/cases/hashes.sh,
 *        tests/cli/cases/oph.sh, tests/cli/cases/ownership.sh, tests/cli/cases/staged.sh,
 *        tests/identity/test_product.py, tests/unit/job/test_report_file.c,
 *        tests/unit/jobs/test_public_api_job.c */
#include "job/report_file.h"

#include <bandmill/version.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/address.h"
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/system.h"
#include "input/input_shard.h"
#include "job/recipe.h"
#include "job/rows.h"
#include "json/json_scan.h"
#include "model/ids.h"
#include "remote/remote_file.h"

/* === report counts ===
 *
 * Writes and reads the counts by the table bm_count_rows (model/counts.h). */

#define LEFT_OUT "left_out" /* the only object among the counts; at least one count follows it */

/* Write the counts of a report of kind `of`. */
static void report_counts(bm_json *json, const bm_counts *counts, bm_report_counts_of of)
{
    bool within = false; /* inside the object LEFT_OUT */
    bm_json_key_object(json, "counts");
    for (size_t i = 0; i < BM_N_COUNTS; i++) {
        const bm_report_counts_of which = bm_count_rows[i].of;
        const uint64_t n = *(const uint64_t *)((const char *)counts + bm_count_rows[i].at);
        const bool groups = of == BM_COUNTS_OF_GROUPS || of == BM_COUNTS_OF_AGAINST;
        if (which != BM_COUNTS_OF_ALL && which != of && (which != BM_COUNTS_OF_SOME || n == 0) &&
            (which != BM_COUNTS_OF_LOSS || !groups || n == BM_COUNT_UNKNOWN) &&
            (which != BM_COUNTS_OF_GROUPS || !groups))
            continue;
        const char *name = bm_count_rows[i].name, *dot = strchr(name, '.');
        if (within && dot == NULL)
            bm_json_end_object(json);
        if (!within && dot != NULL)
            bm_json_key_object(json, LEFT_OUT);
        within = dot != NULL;
        bm_json_key_uint(json, dot != NULL ? dot + 1 : name, n);
    }
    bm_json_end_object(json);
}

/* Do reports of earlier versions lack this count? */
static bool is_later(const bm_count_row *row)
{
    return row->at == offsetof(bm_counts, unreadable) || row->at == offsetof(bm_counts, equal) ||
           row->at == offsetof(bm_counts, removed_equal);
}

bm_status bm_report_read_counts(const bm_manifest *report, bm_counts *out, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < BM_N_COUNTS; i++) {
        uint64_t *at = bm_count_at(out, &bm_count_rows[i]);
        const bm_report_counts_of of = bm_count_rows[i].of;
        const bool later = is_later(&bm_count_rows[i]);
        const bool all = of == BM_COUNTS_OF_ALL && !later;
        if (of == BM_COUNTS_OF_INDEX)
            continue;
        status = bm_manifest_count(report, bm_count_rows[i].name, at, all ? err : NULL);
        if (status != BM_OK && (later || of == BM_COUNTS_OF_SOME || of == BM_COUNTS_OF_LOSS)) {
            *at = of == BM_COUNTS_OF_LOSS ? BM_COUNT_UNKNOWN : 0;
            status = BM_OK;
        }
        if (status != BM_OK && !all)
            return BM_OK; /* a report of signatures lacks this count and all later ones */
    }
    return status;
}

/* === report groups ===
 *
 * Counts groups by size. This takes 8 bytes of memory for each size up to that of the largest
 * group. */

#define DOMINANT_LEAST 1000u

static uint64_t size_of(const bm_grouping *g, size_t group)
{
    return g->begin[group + 1] - g->begin[group];
}

static bm_status write_sizes(bm_json *json, const bm_grouping *g, bm_error *err)
{
    uint64_t *of_size = NULL;
    BM_TRY(bm_new_zero(&of_size, (size_t)g->largest + 1, err));
    for (size_t i = 0; i < g->n_groups; i++)
        of_size[size_of(g, i)]++;
    bm_json_key_array(json, "group_sizes");
    for (uint64_t size = 0; size <= g->largest; size++) {
        if (of_size[size] == 0)
            continue;
        bm_json_begin_object(json);
        bm_json_key_uint(json, "size", size);
        bm_json_key_uint(json, "groups", of_size[size]);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_free(of_size);
    return BM_OK;
}

/* Set `out` to the numbers of the largest groups, the largest first, and return their number. */
static size_t find_largest(const bm_grouping *g, size_t out[BM_LARGEST_GROUPS])
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_groups; i++) {
        size_t at = n;
        while (at > 0 && size_of(g, out[at - 1]) < size_of(g, i))
            at--;
        if (at == BM_LARGEST_GROUPS)
            continue;
        n += n < BM_LARGEST_GROUPS;
        for (size_t j = n - 1; j > at; j--)
            out[j] = out[j - 1];
        out[at] = i;
    }
    return n;
}

static void write_largest(bm_json *json, const bm_grouping *g, const bm_doc_table *docs)
{
    size_t largest[BM_LARGEST_GROUPS], n = find_largest(g, largest);
    bm_json_key_array(json, "largest_groups");
    for (size_t i = 0; i < n; i++) {
        uint64_t begin = g->begin[largest[i]], end = g->begin[largest[i] + 1], chained = 0;
        for (uint64_t j = begin; j < end; j++)
            chained += g->reason[g->members[j]] == BM_REASON_CHAINED;
        bm_json_begin_object(json);
        bm_json_key_uint(json, "group", largest[i] + 1);
        bm_json_key(json, "kept");
        if (g->known != NULL && g->known[g->members[begin]] != BM_NO_KNOWN)
            bm_json_string(json,
                           bm_known_id(g->from, g->known_members[g->known_begin[largest[i]]]));
        else if (g->kept[g->members[begin]] == BM_NO_KEPT)
            bm_json_text(json, NULL);
        else
            bm_json_string(json, bm_doc_table_id(docs, g->kept[g->members[begin]]));
        bm_json_key_uint(json, "size", end - begin);
        bm_json_key_uint(json, "chained", chained);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static bool is_dominant(uint64_t size, uint64_t n_docs)
{
    return size > DOMINANT_LEAST && size > n_docs / 100;
}

/* Write these members of a report:
 *   group_sizes      [{"size":2,"groups":10}, ...], by ascending size
 *   largest_groups   [{"group":1,"kept":ID,"size":50,"chained":3}, ...], at most ten; the largest
 *                    first, and of groups of equal size, the one with the lowest number first
 *   chained_share    share of the removed documents that are chained; 0 if none was removed
 *   dominant_group   {"size":5000,"helps":["cluster star", ...]}; only if the largest group is
 *                    dominant */
static bm_status report_groups(bm_json *json, const bm_grouping *grouping, const bm_doc_table *docs,
                               bm_error *err)
{
    BM_TRY(write_sizes(json, grouping, err));
    write_largest(json, grouping, docs);
    double removed = grouping->n_removed > 0 ? (double)grouping->n_removed : 1;
    bm_json_key_double(json, "chained_share", (double)grouping->n_chained / removed);
    if (!is_dominant(grouping->largest, grouping->n))
        return BM_OK;
    bm_json_key_object(json, "dominant_group");
    bm_json_key_uint(json, "size", grouping->largest);
    bm_json_key_array(json, "helps");
    bm_json_text(json, "cluster star");
    bm_json_text(json, "max_group_size");
    bm_json_text(json, "weights tfidf");
    bm_json_end_array(json);
    bm_json_end_object(json);
    return BM_OK;
}

void bm_report_warn_dominant(bm_job_context *job)
{
    const bm_counts *counts = &job->counts;
    if (is_dominant(counts->largest_group, counts->documents))
        bm_meter_log(&job->meter, BM_LOG_WARNING,
                     "one group has %" PRIu64 " of %" PRIu64
                     " documents, which a template or a chain "
                     "of links may have joined (what helps: `cluster` star, `max_group_size`, "
                     "`weights` tfidf)",
                     counts->largest_group, counts->documents);
}

/* Write the array "similarities", [{"low":0.8,"high":0.81,"pairs":7}, ...], of the nonempty
 * bins. */
static void report_similarities(bm_json *json, const uint64_t *histogram)
{
    bm_json_key_array(json, "similarities");
    for (uint32_t i = 0; i < BM_HISTOGRAM_BINS; i++) {
        if (histogram[i] == 0)
            continue;
        bm_json_begin_object(json);
        bm_json_key_double(json, "low", (double)i / BM_HISTOGRAM_BINS);
        bm_json_key_double(json, "high", (double)(i + 1) / BM_HISTOGRAM_BINS);
        bm_json_key_uint(json, "pairs", histogram[i]);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* === report ingest ===
 *
 * Writes the busy and the waiting seconds of threads, and the part that limits the ingest. */

typedef struct named_number {
    const char *name;
    double number;
} named_number;

static void write_numbers(bm_json *json, const char *key, const named_number *rows, size_t n)
{
    bm_json_key_object(json, key);
    for (size_t i = 0; i < n; i++)
        bm_json_key_double(json, rows[i].name, rows[i].number);
    bm_json_end_object(json);
}

/* Write "flow": {…}. If there was no ingest, write nothing. */
static void report_ingest(bm_json *json, const bm_ingest_times *times)
{
    const named_number rows[] = {
        {"elapsed", times->elapsed},  {"read", times->read},       {"fill", times->fill},
        {"text", times->text},        {"sign", times->sign},       {"device", times->device},
        {"deliver", times->deliver},  {"enter", times->enter},     {"put", times->put},
        {"worker_wait", times->wait}, {"device_idle", times->idle}};
    if (times->workers == 0)
        return;
    bm_json_key_object(json, "flow");
    bm_json_key_text(json, "bottleneck", bm_ingest_bottleneck(times));
    bm_json_key_uint(json, "workers", times->workers);
    bm_json_key_uint(json, "devices", times->device_workers);
    write_numbers(json, "thread_seconds", rows, sizeof rows / sizeof rows[0]);
    bm_json_end_object(json);
}

static void write_trial(bm_json *json, const bm_text_offload *path)
{
    const named_number rows[] = {{"text", path->text_rate},
                                 {"text_host", path->host_text_rate},
                                 {"text_device", path->device_text_rate},
                                 {"hashes", path->hash_rate},
                                 {"hashes_host", path->host_hash_rate},
                                 {"hashes_device", path->device_hash_rate},
                                 {"cpu", path->cpu_rate}};
    write_numbers(json, "trial_bytes_per_second", rows, sizeof rows / sizeof rows[0]);
}

/* Write "device_input": whether devices received texts or hashes, and the rule or the measured
 * rates that decided between them. If there was no choice, write nothing. */
static void report_text_offload(bm_json *json, const bm_text_offload *path)
{
    if (!path->able && !path->own_processors)
        return;
    bm_json_key_object(json, "device_input");
    bm_json_key_text(json, "form", path->taken ? "text" : "hashes");
    if (path->own_processors)
        bm_json_key_text(json, "because", "the device is made of the host's own processors");
    if (path->measured)
        write_trial(json, path);
    bm_json_end_object(json);
}

/* === report inputs ===
 *
 * Writes the inputs that were read. If only signatures were read, writes the inputs that their
 * manifests list instead. */

/* Escape a text as in a TSV file, and write it as a JSON string. */
static void report_text(bm_json *json, const char *text)
{
    bm_buf name = {0};
    if (bm_tsv_escape(&name, (bm_str){text, strlen(text)}, NULL) != BM_OK)
        json->status = BM_ERR_NOMEM;
    bm_json_string(json, (bm_str){name.data, name.len});
    bm_buf_reset(&name);
}

/* Write the bytes and digests of an input that was read in parts. If one part was read, the members
 * "bytes" and "xxh3_128" are those of the part. If several were read, there is no digest of the
 * whole file. */
static void write_parts(bm_json *json, const bm_manifest_input *input)
{
    bm_json_key_uint(json, "bytes", input->n_parts == 1 ? input->parts[0].bytes : input->bytes);
    if (input->n_parts == 1) {
        bm_json_key_text(json, "xxh3_128", input->parts[0].xxh3_128);
        bm_json_key_uint(json, BM_INPUT_FROM, input->parts[0].from);
        bm_json_key_uint(json, BM_INPUT_FILE_BYTES, input->bytes);
        return;
    }
    bm_json_key_array(json, BM_INPUT_PARTS);
    for (size_t i = 0; i < input->n_parts; i++) {
        bm_json_begin_object(json);
        bm_json_key_uint(json, BM_INPUT_FROM, input->parts[i].from);
        bm_json_key_uint(json, "bytes", input->parts[i].bytes);
        bm_json_key_text(json, "xxh3_128", input->parts[i].xxh3_128);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* Write the object of an input, except for its end. */
static void begin_input(bm_json *json, const bm_manifest_input *input)
{
    bm_json_begin_object(json);
    bm_json_key(json, "file");
    report_text(json, input->file);
    if (input->n_parts > 0) {
        write_parts(json, input);
        return;
    }
    bm_json_key_uint(json, "bytes", input->bytes);
    bm_json_key_text(json, "xxh3_128", input->xxh3_128);
    if (input->ids > BM_IDS_TEXT)
        bm_json_key_text(json, BM_INPUT_IDS, bm_id_kind_word(input->ids));
}

static void begin_source(bm_json *json, const bm_source *source, bm_id_kind ids)
{
    char hex[BM_HASH128_HEX];
    bm_hash128_hex(source->digest, hex);
    const bm_manifest_part part = {source->cut.from, source->bytes_read, hex};
    const bool cut = source->cut.to != 0;
    begin_input(json, &(bm_manifest_input){.file = source->name,
                                           .bytes = cut ? source->size : source->bytes_read,
                                           .xxh3_128 = hex,
                                           .parts = &part,
                                           .n_parts = cut,
                                           .ids = ids});
}

static void key_removed(bm_json *json, const uint64_t *removed_bytes, size_t i)
{
    if (removed_bytes != NULL)
        bm_json_key_uint(json, BM_INPUT_REMOVED_BYTES, removed_bytes[i]);
}

static void write_read(bm_json *json, const bm_job_context *job, const uint64_t *removed_bytes)
{
    bm_input_set *set = job->inputs.set;
    const bm_id_kind ids = job->inputs.source != NULL ? job->inputs.source->ids : BM_IDS_UNTYPED;
    const bm_source *offsets = bm_input_set_offsets(set);
    for (size_t i = 0; i < bm_input_set_count(set); i++) {
        begin_source(json, bm_input_set_source(set, i), ids);
        key_removed(json, removed_bytes, i);
        if (offsets != NULL) {
            bm_json_key(json, BM_INPUT_OFFSETS);
            begin_source(json, offsets, BM_IDS_UNTYPED);
            bm_json_end_object(json);
        }
        bm_json_end_object(json);
    }
}

static void write_recorded(bm_json *json, const bm_recipe *recipe, const uint64_t *removed_bytes)
{
    const bm_manifest_input *offsets =
        recipe->n > 0 ? bm_manifest_offsets(recipe->manifests[0]) : NULL;
    for (size_t i = 0; i < recipe->n_inputs; i++) {
        begin_input(json, recipe->inputs[i]);
        key_removed(json, removed_bytes, i);
        if (offsets != NULL && recipe->n_inputs == 1) {
            bm_json_key(json, BM_INPUT_OFFSETS);
            begin_input(json, offsets);
            bm_json_end_object(json);
        }
        bm_json_end_object(json);
    }
}

static void write_shard(bm_json *json, const bm_input_shard *shard)
{
    char hex[BM_HASH128_HEX];
    bm_hash128_hex(shard->whole, hex);
    bm_json_key_object(json, BM_MANIFEST_SHARD);
    bm_json_key_uint(json, BM_SHARD_INDEX, shard->index);
    bm_json_key_uint(json, BM_SHARD_OF, shard->of);
    bm_json_key_text(json, BM_SHARD_WHOLE, hex);
    bm_json_end_object(json);
}

/* Write the share of the inputs, if the job has one, and the member "inputs". `removed_bytes`: for
 * each input, the bytes of the texts of its removed documents; NULL: unknown. */
static void report_inputs(bm_json *json, const bm_job_context *job, const uint64_t *removed_bytes)
{
    if (job->settings->results.n_shards > 0)
        write_shard(json, bm_input_set_shard_of(job->inputs.set));
    bm_json_key_array(json, "inputs");
    if (job->inputs.set != NULL)
        write_read(json, job, removed_bytes);
    else if (job->inputs.recorded != NULL)
        write_recorded(json, job->inputs.recorded, removed_bytes);
    bm_json_end_array(json);
}

/* --- the paths of inputs --- */

/* Writes a path of a source, or null. `from`: the resolved directory to which relative paths are
 * relative. */
typedef void write_path_fn(bm_json *json, const bm_source *source, const char *from);

/* Write the path at which the source was read, or null if the path equals the name. */
static void write_found(bm_json *json, const bm_source *source, const char *from)
{
    (void)from;
    if (strcmp(source->path, source->name) != 0)
        report_text(json, source->path);
    else
        bm_json_text(json, NULL);
}

/* The resolved path of the directory that contains `path`, with a slash at the end; the caller
 * frees it. NULL: the directory cannot be resolved. If `path` itself is a symbolic link, it is not
 * followed, because the link moves with the directory that contains it. */
static char *real_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? bm_strdup(".") : bm_strndup(path, (size_t)(slash - path) + 1);
    char *real = folder != NULL ? realpath(folder, NULL) : NULL, *ended = NULL;
    bm_free(folder);
    if (real != NULL)
        bm_string_format(&ended, NULL, "%s%s", real, strcmp(real, "/") == 0 ? "" : "/");
    free(real);
    return ended;
}

/* Set *path, which must be empty, to the path of the source relative to the resolved directory
 * `from`. *known becomes false if the source has no such path, because it is standard input, or
 * because its directory cannot be resolved. */
static bm_status path_from_here(const bm_source *source, const char *from, bm_buf *path,
                                bool *known, bm_error *err)
{
    const char *slash = strrchr(source->path, '/');
    char *folder = strcmp(source->path, "-") == 0 ? NULL : real_folder(source->path);
    *known = folder != NULL;
    if (folder == NULL)
        return BM_OK;
    bm_status status = BM_OK;
    size_t common = 0;
    for (size_t i = 0; from[i] != '\0' && from[i] == folder[i]; i++)
        if (from[i] == '/')
            common = i + 1;
    for (const char *step = from + common; *step != '\0'; step++)
        if (*step == '/')
            BM_TRY_OUT(bm_buf_add_text(path, "../", err));
    BM_TRY_OUT(bm_buf_add_text(path, folder + common, err));
    BM_TRY_OUT(bm_buf_add_text(path, slash != NULL ? slash + 1 : source->path, err));
    status = bm_buf_end(path, err);
out:
    bm_free(folder);
    return status;
}

/* Write the path of the source relative to `from`, or null if it has no such path. */
static void write_from_here(bm_json *json, const bm_source *source, const char *from)
{
    bm_buf path = {0};
    bool known;
    if (path_from_here(source, from, &path, &known, NULL) != BM_OK)
        json->status = BM_ERR_NOMEM;
    else if (known)
        report_text(json, path.data);
    else
        bm_json_text(json, NULL);
    bm_buf_reset(&path);
}

/* A common prefix of the names of all inputs, and a common prefix of their relative paths. In each
 * name, replacing the prefix `name` by the prefix `path` gives the relative path of the input. */
typedef struct heads {
    size_t name_len, path_len;
    bm_buf name, path;
} heads;

/* Do name and path begin with these prefixes, and are the rests equal? */
static bool has_heads(const heads *h, const char *name, bm_str path)
{
    return strlen(name) >= h->name_len && path.len >= h->path_len &&
           memcmp(name, h->name.data, h->name_len) == 0 &&
           memcmp(path.data, h->path.data, h->path_len) == 0 &&
           strcmp(name + h->name_len, path.data + h->path_len) == 0;
}

/* Find the two prefixes. Returns false if there are none, if the job has fewer than two inputs, or
 * if it has a file of offsets. */
static bool find_heads(bm_input_set *set, const char *from, heads *h)
{
    const size_t n = bm_input_set_count(set);
    bool alike = n > 1 && bm_input_set_offsets(set) == NULL;
    for (size_t i = 0; alike && i < n; i++) {
        const bm_source *source = bm_input_set_source(set, i);
        bm_buf path = {0};
        bool known = false;
        alike = path_from_here(source, from, &path, &known, NULL) == BM_OK && known;
        if (alike && i == 0) {
            size_t a = strlen(source->name), b = path.len;
            while (a > 0 && b > 0 && source->name[a - 1] == path.data[b - 1]) {
                a--;
                b--;
            }
            alike = bm_buf_add(&h->name, source->name, a + 1, NULL) == BM_OK &&
                    bm_buf_add(&h->path, path.data, b + 1, NULL) == BM_OK;
            if (alike)
                h->name.data[h->name_len = a] = h->path.data[h->path_len = b] = '\0';
        } else if (alike) {
            alike = has_heads(h, source->name, (bm_str){path.data, path.len});
        }
        bm_buf_reset(&path);
    }
    return alike;
}

static void write_paths(bm_json *json, bm_input_set *set, const char *from, write_path_fn *write)
{
    const bm_source *offsets = bm_input_set_offsets(set);
    bm_json_begin_array(json);
    for (size_t i = 0; i < bm_input_set_count(set); i++)
        write(json, bm_input_set_source(set, i), from);
    if (offsets != NULL)
        write(json, offsets, from);
    bm_json_end_array(json);
}

/* Write the relative paths of all inputs. If find_heads finds two prefixes, only these are written,
 * so that the report does not list many inputs twice. */
static void report_from_here(bm_json *json, bm_input_set *set, const char *from)
{
    heads h = {0};
    if (find_heads(set, from, &h)) {
        bm_json_begin_object(json);
        bm_json_key(json, BM_FROM_HERE_NAMES);
        report_text(json, h.name.data);
        bm_json_key(json, BM_FROM_HERE_PATHS);
        report_text(json, h.path.data);
        bm_json_end_object(json);
    } else {
        write_paths(json, set, from, write_from_here);
    }
    bm_buf_reset(&h.name);
    bm_buf_reset(&h.path);
}

static bool elsewhere(const bm_source *source)
{
    return source != NULL && strcmp(source->path, source->name) != 0;
}

/* Write two members of "run". The first has the paths at which inputs were read; it is written only
 * if the path of some input differs from its name. The second has the paths of inputs relative to
 * the output directory `dir` (NULL: there is no directory, and no second member). */
static void report_inputs_found(bm_json *json, const bm_job_context *job, const bm_out_dir *dir)
{
    bm_input_set *set = job->inputs.set;
    if (set == NULL)
        return;
    bool any = elsewhere(bm_input_set_offsets(set));
    for (size_t i = 0; !any && i < bm_input_set_count(set); i++)
        any = elsewhere(bm_input_set_source(set, i));
    if (any) {
        bm_json_key(json, BM_RUN_FOUND);
        write_paths(json, set, NULL, write_found);
    }
    char *work = NULL, *from = NULL;
    if (dir != NULL && bm_string_format(&work, NULL, "%s/", bm_out_dir_work(dir)) == BM_OK)
        from = real_folder(work); /* the work directory; paths relative to the final directory are
                                     the same */
    if (from != NULL) {
        bm_json_key(json, BM_RUN_FROM_HERE);
        report_from_here(json, set, from);
    }
    bm_free_all(from, work);
}

/* === report spill ===
 *
 * Writes the bytes of temporary files, including copies of standard input, and the source from
 * which verification read the sets. */

static uint64_t copied(const bm_job_context *job)
{
    return job->inputs.set != NULL ? bm_input_set_copied(job->inputs.set) : 0;
}

static void report_corpus(bm_json *json, const bm_job_context *job)
{
    bm_corpus_spilled files = bm_corpus_spilled_bytes(job->stats.corpus);
    const bool again = job->stats.corpus->sets.state == BM_SETS_AGAIN;
    bm_json_key_text(json, "sets_from", again ? "inputs" : files.set_bytes > 0 ? "file" : "memory");
    bm_json_key_uint(json, "set_bytes", files.set_bytes);
    bm_json_key_uint(json, "set_bytes_read_back", files.bytes_back);
    bm_json_key_uint(json, "key_bytes", files.key_bytes);
    bm_json_key_uint(json, "edge_bytes", job->stats.edge_bytes);
}

/* Write "temporary_files": {…}. If there was no pairing and no input was copied, write nothing. */
static void report_spill(bm_json *json, const bm_job_context *job)
{
    if (job->stats.corpus == NULL && copied(job) == 0)
        return;
    bm_json_key_object(json, "temporary_files");
    if (job->stats.corpus != NULL)
        report_corpus(json, job);
    bm_json_key_uint(json, "input_bytes", copied(job));
    bm_json_end_object(json);
}

static unsigned long long mib(uint64_t bytes)
{
    return (unsigned long long)((bytes + (1u << 20) - 1) >> 20);
}

void bm_log_spill(bm_job_context *job)
{
    bm_corpus_spilled files = bm_corpus_spilled_bytes(job->stats.corpus);
    if (files.set_bytes + files.key_bytes + job->stats.edge_bytes == 0)
        return;
    bm_meter_log(&job->meter, BM_LOG_DEBUG,
                 "temporary files under %s: %llu MiB of sets, %llu MiB of band keys, %llu MiB of "
                 "edges; verification read %llu MiB of sets back, in order of their places",
                 job->settings->temp_dir, mib(files.set_bytes), mib(files.key_bytes),
                 mib(job->stats.edge_bytes), mib(files.bytes_back));
}

struct bm_summary {
    bm_counts counts;
    bm_band_plan plan;
    bm_scheme scheme;
    char *json;
    char device[512];
    double seconds;
};

const bm_counts *bm_summary_counts(const bm_summary *summary)
{
    return summary != NULL ? &summary->counts : NULL;
}

const bm_band_plan *bm_summary_plan(const bm_summary *summary)
{
    return summary != NULL ? &summary->plan : NULL;
}

bm_scheme bm_summary_scheme(const bm_summary *summary)
{
    return summary != NULL ? summary->scheme : BM_SCHEME_AFFINE32;
}

const char *bm_summary_json(const bm_summary *summary)
{
    return summary != NULL ? summary->json : NULL;
}

const char *bm_summary_device(const bm_summary *summary)
{
    return summary != NULL ? summary->device : NULL;
}

double bm_summary_seconds(const bm_summary *summary)
{
    return summary != NULL ? summary->seconds : 0;
}

void bm_summary_free(bm_summary *summary)
{
    if (summary == NULL)
        return;
    bm_free_all(summary->json, summary);
}

/* --- sections --- */

typedef struct section_writer {
    bm_json *json;
    int open; /* the open section; -1: no section is open */
} section_writer;

static void end_section(section_writer *w)
{
    if (w->open >= 0)
        bm_json_end_object(w->json);
    w->open = -1;
}

static void write_setting(void *ctx, const bm_setting *setting)
{
    static const char *const sections[] = {"provenance", "parameters", "plan"};
    section_writer *w = ctx;
    if (setting->section == BM_SECTION_OUTPUT)
        return;
    if (w->open != (int)setting->section) {
        end_section(w);
        if (setting->kind != BM_SETTING_NULL) {
            bm_json_key_object(w->json, sections[setting->section]);
            w->open = (int)setting->section;
        }
    }
    bm_json_key(w->json, setting->name);
    bm_report_setting_value(w->json, setting);
}

static void write_provenance(void *ctx, const bm_setting *setting)
{
    if (setting->section == BM_SECTION_PROVENANCE)
        write_setting(ctx, setting);
}

void bm_report_settings(bm_json *json, const bm_job_context *job)
{
    section_writer w = {.json = json, .open = -1};
    bm_settings_list(job->settings, bm_job_context_format(job), write_setting, &w);
    end_section(&w);
}

void bm_report_setting_value(bm_json *json, const bm_setting *setting)
{
    switch (setting->kind) {
    case BM_SETTING_NULL:
    case BM_SETTING_TEXT:
        bm_json_text(json, setting->text);
        break;
    case BM_SETTING_UINT:
        bm_json_uint(json, setting->number);
        break;
    case BM_SETTING_DOUBLE:
        bm_json_double(json, setting->real);
        break;
    case BM_SETTING_TEXTS:
        bm_json_begin_array(json);
        for (size_t i = 0; i < setting->n_texts; i++)
            bm_json_text(json, setting->texts[i]);
        bm_json_end_array(json);
        break;
    }
}

/* If a sample was requested, write it. */
static void write_sample(bm_json *json, const bm_job_context *job)
{
    if (job->settings->pairs.sample == 0)
        return;
    bm_json_key_object(json, "sample");
    bm_json_key_uint(json, "documents", job->counts.sampled);
    bm_json_key_uint(json, "of", job->counts.documents);
    bm_json_key_uint(json, "seed", job->settings->sketch.seed);
    bm_json_end_object(json);
}

/* With BM_VERIFY_CONTAINED, write the probability that the bands find a pair in which one document
 * contains the other. It is written for several ratios of the sizes of the two documents. The ratio
 * is the Jaccard similarity of such a pair. */
static void write_containment_recall(bm_json *json, const bm_job_context *job)
{
    static const double ratios[] = {1, .8, .5, .2};
    const bm_band_plan *plan = &job->settings->plan;
    if (job->settings->pairs.verify != BM_VERIFY_CONTAINED)
        return;
    bm_json_key_array(json, "containment_recall");
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        bm_json_begin_object(json);
        bm_json_key_double(json, "size_ratio", ratios[i]);
        bm_json_key_double(json, "recall", bm_band_probability(plan->bands, plan->rows, ratios[i]));
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* If the job finds pairs and had known documents, write the counts of the comparison with them. */
static void write_against(bm_json *json, const bm_job_context *job)
{
    const bm_job_against *against = &job->against;
    if (job->settings->pairs.n_against == 0 || !bm_job_does(job->settings, BM_JOB_MATCHES))
        return;
    bm_json_key_object(json, "against");
    bm_json_key_uint(json, "documents", against->documents);
    bm_json_key_uint(json, "candidates", against->candidates);
    bm_json_key_uint(json, "verified", against->verified);
    bm_json_key_uint(json, "not_compared", against->not_compared);
    bm_json_key_uint(json, "found", against->found);
    if (against->ids > BM_IDS_TEXT)
        bm_json_key_text(json, "ids", bm_id_kind_word(against->ids));
    bm_json_end_object(json);
}

static void write_device(bm_json *json, const bm_device_info *device, uint64_t n_docs)
{
    bm_json_begin_object(json);
    bm_json_key_text(json, "device", device->spec);
    bm_json_key_text(json, "name", device->name);
    bm_json_key_text(json, "platform", device->platform);
    bm_json_key_text(json, "driver", device->driver); /* for the native CPU, the instruction set */
    bm_json_key_uint(json, "documents", n_docs);
    bm_json_end_object(json);
}

static void write_devices(bm_json *json, const bm_job_context *job)
{
    bm_json_key_array(json, "devices");
    if (job->devices.open &&
        (job->devices.set.use_cpu || atomic_load(&job->devices.set.cpu_docs) > 0))
        write_device(json, &job->devices.set.cpu->info, atomic_load(&job->devices.set.cpu_docs));
    for (size_t i = 0; job->devices.open && i < job->devices.set.n_device_workers; i++)
        write_device(json, &job->devices.set.device_workers[i].info,
                     job->devices.set.device_workers[i].n_docs);
    bm_json_end_array(json);
}

/* Is the setting a requested output, to be written into "run"? The setting "command" is in the same
 * section, but is not written there, because reports contain it as "kind". */
static bool report_asks(const bm_setting *setting)
{
    return setting->section == BM_SECTION_OUTPUT && strcmp(setting->name, "command") != 0;
}

static void write_asked_one(void *ctx, const bm_setting *setting)
{
    bm_json *json = ctx;
    if (!report_asks(setting))
        return;
    bm_json_key(json, setting->name);
    bm_report_setting_value(json, setting);
}

/* Write the requested outputs. A later job compares them with its own, to check whether it is
 * already done. */
static void write_asked(bm_json *json, const bm_job_context *job)
{
    bm_json_key_object(json, BM_RUN_ASKED);
    bm_settings_list(job->settings, bm_job_context_format(job), write_asked_one, json);
    bm_json_end_object(json);
}

/* Write a word of the command line. If the word ends with an address, the result of bm_address_name
 * is written in place of the address. */
static void write_word(bm_json *json, const char *word)
{
    const char *address = word;
    char *name = NULL, *shown = NULL;
    bm_status status = BM_OK;
    while (*address != '\0' && !bm_is_address(address))
        address++;
    if (*address == '\0') {
        report_text(json, word);
        return;
    }
    BM_TRY_OUT(bm_address_name(address, &name, NULL));
    BM_TRY_OUT(bm_string_format(&shown, NULL, "%.*s%s", (int)(address - word), word, name));
    report_text(json, shown);
out:
    if (status != BM_OK)
        json->status = status;
    bm_free_all(shown, name);
}

/* Write the date and time at which the job began, in UTC, and the command line. */
static void write_origin(bm_json *json, const bm_job_context *job)
{
    char date[32] = "";
    struct tm utc;
    if (gmtime_r(&job->clock.date, &utc) != NULL &&
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        bm_json_key_text(json, "date", date);
    const char *const *word = job->settings->output.command;
    if (word == NULL)
        return;
    bm_json_key_array(json, "command");
    for (; *word != NULL; word++)
        write_word(json, *word);
    bm_json_end_array(json);
}

/* Write the object "run", except for its end. */
static void begin_run(bm_json *json, const bm_job_context *job, const bm_out_dir *dir,
                      double seconds)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    char cpu[128];
    bm_cpu_name(cpu, sizeof cpu);
    bm_json_key_object(json, "run");
    write_origin(json, job);
    write_asked(json, job);
    bm_json_key_double(json, "seconds", seconds);
    bm_json_key_text(json, "device", job->devices.open ? job->devices.set.names : NULL);
    write_devices(json, job);
    bm_json_key_text(json, "processor", cpu);
    bm_json_key_uint(json, "threads", job->settings->threads);
    bm_json_key_uint(json, "memory_limit_bytes", job->settings->memory);
    bm_json_key_uint(json, "peak_resident_bytes", (uint64_t)usage.ru_maxrss * 1024);
    if (job->stats.n_resumed > 0)
        bm_json_key_uint(json, "resumed_documents", job->stats.n_resumed);
    report_ingest(json, &job->stats.ingest_times);
    if (job->devices.open)
        report_text_offload(json, &job->devices.set.path);
    report_inputs_found(json, job, dir);
    report_spill(json, job);
    if (job->counts.verified > 0)
        bm_json_key_double(json, "verify_seconds", job->stats.verify_seconds);
    bm_json_key_array(json, "stages");
    for (size_t i = 0; i < job->clock.n_stages; i++) {
        bm_json_begin_object(json);
        bm_json_key_text(json, "stage", job->clock.stages[i].name);
        bm_json_key_double(json, "seconds", job->clock.stages[i].seconds);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* Write the size of the pieces by which files are digested, and the version of this method. */
static void write_digests(bm_json *json)
{
    bm_json_key_uint(json, BM_MANIFEST_PIECE_BYTES, BM_FILE_PIECE_BYTES);
    bm_json_key_uint(json, BM_MANIFEST_DIGESTS, BM_DIGESTS_VERSION);
}

/* Write the digests of all files of the directory, except for the report itself. `dir` NULL: no
 * digests. */
static bm_status write_outputs(bm_json *json, bm_out_dir *dir, bm_error *err)
{
    const char *sha256 = "{}", *xxh3 = "{}", *pieces = "{}";
    bm_status status = BM_OK;
    if (dir != NULL)
        BM_TRY_OUT(bm_out_dir_digests(dir, &sha256, err));
    if (dir != NULL)
        BM_TRY_OUT(bm_out_dir_digests_xxh3(dir, &xxh3, err));
    if (dir != NULL)
        BM_TRY_OUT(bm_out_dir_digests_pieces(dir, &pieces, err));
out:
    bm_json_key(json, BM_MANIFEST_OUTPUTS);
    bm_json_raw(json, sha256);
    bm_json_key(json, BM_MANIFEST_OUTPUTS_XXH3);
    bm_json_raw(json, xxh3);
    if (strcmp(pieces, "{}") != 0) {
        bm_json_key(json, BM_MANIFEST_OUTPUTS_PIECES);
        bm_json_raw(json, pieces);
    }
    write_digests(json);
    return status;
}

/* Write the first members, which are common to all manifests. */
static void write_kind(bm_json *json, const char *kind)
{
    bm_json_key_uint(json, "schema", BM_REPORT_SCHEMA);
    bm_json_key_text(json, "tool", "bandmill");
    bm_json_key_text(json, "kind", kind);
    bm_json_key_text(json, "version", bm_version()->version);
}

void bm_report_begin(bm_json *json, const bm_job_context *job)
{
    bm_json_begin_object(json);
    write_kind(json, bm_job_row_of(job->settings)->name);
    bm_report_settings(json, job);
}

/* Write the manifest of the items of `overlap`: their inputs, and the settings for reading them. */
static void write_items(bm_json *json, const bm_job_context *items, const bm_out_dir *dir)
{
    section_writer w = {.json = json, .open = -1};
    bm_json_key_object(json, BM_MANIFEST_ITEMS);
    write_kind(json, BM_MANIFEST_ITEMS);
    bm_settings_list(items->settings, bm_job_context_format(items), write_provenance, &w);
    end_section(&w);
    bm_json_key_object(json, "counts");
    bm_json_key_uint(json, "documents", items->counts.documents);
    bm_json_key_uint(json, "skipped", items->counts.skipped);
    bm_json_end_object(json);
    report_inputs(json, items, NULL);
    write_digests(json);
    bm_json_key_object(json, "run");
    report_inputs_found(json, items, dir);
    bm_json_end_object(json);
    bm_json_end_object(json);
}

/* Make a summary with these counts. `json`: the text of the report; this takes ownership of it,
 * even on failure. BM_ERR_NOMEM. */
static bm_status report_summary(const bm_job_context *job, const bm_counts *counts, char *json,
                                bm_summary **out, bm_error *err)
{
    bm_summary *summary = bm_alloc_zero(1, sizeof *summary);
    if (summary == NULL) {
        bm_free(json);
        return bm_fail_nomem(err, sizeof *summary);
    }
    summary->counts = *counts;
    summary->plan = job->settings->plan;
    summary->scheme = job->settings->sketch.scheme;
    summary->json = json;
    summary->seconds = bm_clock_seconds() - job->clock.began;
    snprintf(summary->device, sizeof summary->device, "%s",
             job->devices.open ? job->devices.set.names : "");
    *out = summary;
    return BM_OK;
}

/* For each rule of `keep` that reads a field, except BM_KEEP_RULE_WITHIN, write the numbers of
 * documents that the rule could not rank. */
static void write_not_ranked(bm_json *json, const bm_keep_keys *keep)
{
    if (keep->rules == NULL)
        return;
    bm_json_key_array(json, "keep_not_ranked");
    for (size_t i = 0; i < keep->rules->n_by_field; i++) {
        const bm_keep_counts *c = &keep->counts[i];
        if (c->rule->kind == BM_KEEP_RULE_WITHIN)
            continue;
        bm_json_begin_object(json);
        bm_json_key_text(json, "rule", c->rule->words);
        bm_json_key_uint(json, "missing", c->missing);
        bm_json_key_uint(json, "other", c->other);
        if (c->rule->kind == BM_KEEP_RULE_ORDER)
            bm_json_key_uint(json, "unlisted", c->unlisted);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* Write the inputs. If the sizes of texts are known, write for each input the bytes of the texts of
 * its removed documents. */
static void write_inputs(bm_json *json, const bm_job_context *job, const bm_grouping *grouping)
{
    uint64_t *bytes = NULL;
    const bool known = grouping != NULL && job->counts.results.removed_bytes != BM_COUNT_UNKNOWN;
    if (known && (bytes = bm_alloc_zero(job->inputs.names.n, sizeof *bytes)) == NULL)
        json->status = BM_ERR_NOMEM;
    for (size_t i = 0; bytes != NULL && i < grouping->n; i++) {
        const bm_doc_row *row = bm_doc_table_row(&job->docs, i);
        if (grouping->reason[i] != BM_REASON_KEPT)
            bytes[row->file] += row->text_bytes;
    }
    report_inputs(json, job, bytes);
    bm_free(bytes);
}

bm_status bm_report_make(bm_job_context *job, const bm_grouping *grouping, bm_out_dir *dir,
                         bm_summary **out, bm_error *err)
{
    bm_job_context_stage(job, NULL, NULL);
    double seconds = bm_clock_seconds() - job->clock.began;
    bm_json json = {.pretty = true};
    bm_status status = BM_OK;
    bm_report_begin(&json, job);
    write_containment_recall(&json, job);
    write_sample(&json, job);
    report_counts(&json, &job->counts,
                  bm_job_does(job->settings, BM_JOB_MATCHES) && job->settings->pairs.n_against > 0
                      ? BM_COUNTS_OF_AGAINST
                      : bm_job_row_of(job->settings)->counts);
    write_against(&json, job);
    write_not_ranked(&json, &job->keep);
    if (grouping != NULL)
        status = report_groups(&json, grouping, &job->docs, err);
    if (job->stats.similarities != NULL)
        report_similarities(&json, job->stats.similarities);
    write_inputs(&json, job, grouping);
    if (job->against.items != NULL)
        write_items(&json, job->against.items, dir);
    if (status == BM_OK)
        status = write_outputs(&json, dir, err);
    begin_run(&json, job, dir, seconds);
    bm_manifest_seal(&json);
    bm_json_end_object(&json);
    bm_json_end_object(&json);
    if (status == BM_OK)
        status = bm_json_finish(&json, err);
    if (status == BM_OK)
        return report_summary(job, &job->counts, json.buf.data, out, err);
    bm_buf_reset(&json.buf);
    return status;
}

bm_status bm_report_write(const bm_summary *summary, bm_out_dir *dir, const char *name,
                          bm_error *err)
{
    bm_rows rows = {0};
    BM_TRY(bm_out_dir_file(dir, name, &rows.file, err));
    bm_status status = bm_out_file_write(rows.file, summary->json, strlen(summary->json), err);
    return bm_rows_end(&rows, status, err);
}

bm_status bm_report_write_copy(const bm_job_context *job, const bm_summary *summary,
                               bm_out_existing existing, bm_out_group *group, bm_error *err)
{
    const bm_output_options *output = &job->settings->output;
    bm_rows rows = {0};
    if (output->report == NULL)
        return BM_OK;
    BM_TRY(bm_out_file_open(output->report, existing, &rows.file, err));
    bm_status status = bm_out_file_write(rows.file, summary->json, strlen(summary->json), err);
    return bm_rows_end_in(&rows, group, status, err);
}

/* === report read ===
 *
 * A report begins with the settings that decide the results. The present job generates this part of
 * its own report, and compares it with the text of the existing report. The requested outputs, in
 * "run", are compared one by one. */

typedef struct comparing {
    const bm_manifest *report;
    bool same;
    bm_status status;
} comparing;

static void compare_asked(void *ctx, const bm_setting *setting)
{
    comparing *c = ctx;
    bm_json json = {0};
    bm_str there;
    if (!report_asks(setting) || c->status != BM_OK)
        return;
    bm_report_setting_value(&json, setting);
    c->status = bm_json_finish(&json, NULL);
    if (c->status == BM_OK) {
        const size_t len = strcspn(json.buf.data, "\n");
        char field[128];
        snprintf(field, sizeof field, "run." BM_RUN_ASKED ".%s", setting->name);
        c->same = c->same && bm_manifest_member(c->report, field, &there) && there.len == len &&
                  memcmp(there.data, json.buf.data, len) == 0;
    }
    bm_buf_reset(&json.buf);
}

bm_status bm_report_is_of(const bm_job_context *job, const bm_manifest *report, bool *same,
                          bm_error *err)
{
    bm_json head = {.pretty = true};
    bm_str asked;
    const bm_str text = bm_manifest_text(report);
    comparing c = {.report = report, .same = true};
    bm_report_begin(&head, job);
    *same = head.status == BM_OK && head.buf.len < text.len &&
            memcmp(head.buf.data, text.data, head.buf.len) == 0 && text.data[head.buf.len] == ',';
    bm_status status = head.status == BM_OK ? BM_OK : bm_fail_nomem(err, head.buf.len);
    bm_buf_reset(&head.buf);
    if (status != BM_OK || !*same)
        return status;
    *same = bm_manifest_member(report, "run." BM_RUN_ASKED, &asked);
    if (!*same)
        return BM_OK;
    bm_settings_list(job->settings, bm_job_context_format(job), compare_asked, &c);
    *same = c.same;
    return c.status == BM_OK ? BM_OK : bm_fail_nomem(err, 0);
}

/* The size of the largest group; 0: there are no groups. The report lists group sizes in ascending
 * order, so it is the last one. */
static uint64_t largest_group(const bm_manifest *report)
{
    static const char key[] = "\"size\"";
    const size_t len = sizeof key - 1;
    uint64_t size = 0;
    bm_str sizes;
    if (!bm_manifest_member(report, "group_sizes", &sizes))
        return 0;
    for (size_t i = sizes.len; i >= len; i--)
        if (memcmp(sizes.data + i - len, key, len) == 0) {
            size = strtoull(sizes.data + i + strspn(sizes.data + i, ": "), NULL, 10);
            break;
        }
    return size;
}

bm_status bm_report_read(const bm_job_context *job, const bm_manifest *report, bm_summary **out,
                         bm_error *err)
{
    bm_counts counts = {0};
    const bm_str text = bm_manifest_text(report);
    BM_TRY(bm_report_read_counts(report, &counts, err));
    counts.largest_group = largest_group(report);
    char *json;
    BM_TRY(bm_copy_bytes(text.data, text.len, &json, err));
    return report_summary(job, &counts, json, out, err);
}
