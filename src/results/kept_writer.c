/* SPDX-License-Identifier: Apache-2.0 */
/* kept_writer.c -- writes kept documents as records, as rows of tables, or as ids.
 *
 * Tests: tests/reference/test_tables.py, tests/unit/results/test_kept_writer.c */
#include "results/kept_writer.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/orders.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "input/compression_kinds.h"
#include "input/record_format.h"
#include "input/tables.h"
#include "json/json_write.h"
#include "model/file_names.h"

/* === kept names ===
 *
 * Makes the names of kept files from endings, compression, and the deepest common directory.
 *
 * A path is first made absolute and plain: "." and ".." are removed from its text, and links are
 * not followed. So the part of a path below the common directory has no "..", and every kept file
 * is inside the output. Paths and addresses (URLs) each have a common directory of their own. If
 * there are both, addresses keep their full names, so that no file of one kind gets the name of a
 * file of the other. */

static const char *format_ending(bm_format format)
{
    switch (format) {
    case BM_FORMAT_TSV:
        return ".tsv";
    case BM_FORMAT_CSV:
        return ".csv";
    case BM_FORMAT_LINES:
        return ".txt";
    case BM_FORMAT_JSON:
        return ".json";
    case BM_FORMAT_WET:
        return ".warc.wet";
    case BM_FORMAT_PARQUET:
        return ".parquet";
    case BM_FORMAT_ARROW:
        return ".arrow";
    default:
        return ".jsonl";
    }
}

/* The compression ending of a kept file. With `same` it is `own`, the compression ending of the
 * input's name. If the name has none, `own` is "", even if the input is compressed. For standard
 * input, `own` is the ending for its compression. */
static const char *compression_ending(bm_records kept, const char *own)
{
    switch (kept) {
    case BM_RECORDS_GZ:
        return bm_compression_ending(BM_COMPRESSION_GZ);
    case BM_RECORDS_ZST:
        return bm_compression_ending(BM_COMPRESSION_ZST);
    case BM_RECORDS_SAME:
        return own;
    default:
        return "";
    }
}

/* The rule for the names of files. If there is a single file, `base` replaces its whole name except
 * the ending. */
typedef struct names_naming {
    bm_kept_naming asked;
    const char *base;
    bool single;
} names_naming;

/* Append the name of a kept file. `name` is the last part of the input's path, or "-". */
static bm_status add_file_name(bm_buf *out, const char *name, const bm_kept_source *source,
                               const names_naming *how, bm_error *err)
{
    bool is_stdin = strcmp(source->name, "-") == 0;
    size_t plain = strlen(name);
    (void)bm_compression_of_name(name, &plain);
    if (plain == 0) /* ".gz": the ending is the whole name */
        plain = strlen(name);
    const char *own = is_stdin ? bm_compression_ending(source->compression) : name + plain;
    const char *ending = format_ending(how->asked.format);
    size_t ending_len = strlen(ending), stem = plain;
    if (!is_stdin) {
        while (stem > 0 && name[stem - 1] != '.')
            stem--;
        if (how->asked.format == BM_FORMAT_WET && bm_name_ends(name, plain, ending))
            stem = plain - ending_len + 1; /* .warc.wet is one ending with two dots */
        if (stem > 1 && stem < plain) {    /* true for "a.b", but not for ".b" or "a." */
            ending = name + stem - 1;
            ending_len = plain - (stem - 1);
        }
    }
    if (how->single) {
        BM_TRY(bm_buf_add_text(out, how->base, err));
        BM_TRY(bm_buf_add(out, ending, ending_len, err));
    } else if (is_stdin)
        BM_TRY(bm_buf_add_format(out, err, "stdin%s", ending));
    else
        BM_TRY(bm_buf_add(out, name, plain, err));
    return bm_buf_add_text(out, compression_ending(how->asked.kept, own), err);
}

/* Append `name`, made absolute and plain: "/a/b/c". */
static bm_status add_plain_path(bm_buf *out, const char *cwd, const char *name, bm_error *err)
{
    const char *parts[2] = {name[0] == '/' || bm_is_address(name) ? "" : cwd, name};
    for (int i = 0; i < 2; i++) {
        for (const char *c = parts[i]; *c != '\0';) {
            size_t len = strcspn(c, "/");
            if (len == 2 && memcmp(c, "..", 2) == 0) {
                while (out->len > 0 && out->data[--out->len] != '/')
                    ;
            } else if (len > 0 && !(len == 1 && *c == '.')) {
                BM_TRY(bm_buf_add(out, "/", 1, err));
                BM_TRY(bm_buf_add(out, c, len, err));
            }
            c += len;
            c += *c == '/';
        }
    }
    return bm_buf_end(out, err);
}

/* The length of the deepest folder that contains both `path` and the folder first[0 …
 * common-1]. */
static size_t shared_folder(const char *first, const char *path, size_t common)
{
    size_t same = 0;
    while (same < common && first[same] == path[same])
        same++;
    while (same > 0 && first[same - 1] != '/')
        same--;
    return same; /* including the last slash */
}

/* Plain paths, and the common folder of the paths and of the addresses. */
typedef struct plain_list {
    char **paths; /* NULL: standard input */
    size_t n;
    size_t common[2]; /* length of the common prefix: [0] of paths, [1] of addresses */
} plain_list;

static bm_status plain_paths(const bm_kept_source *sources, const char *cwd, plain_list *out,
                             bm_error *err)
{
    const char *first[2] = {NULL, NULL};
    for (size_t i = 0; i < out->n; i++) {
        const bool kind = bm_is_address(sources[i].name);
        if (strcmp(sources[i].name, "-") == 0)
            continue;
        bm_buf path = {0};
        bm_status status = add_plain_path(&path, cwd, sources[i].name, err);
        if (status != BM_OK) {
            bm_buf_reset(&path);
            return status;
        }
        out->paths[i] = path.data;
        const char *slash = strrchr(path.data, '/');
        if (first[kind] == NULL)
            out->common[kind] = slash != NULL ? (size_t)(slash - path.data) + 1 : 0;
        else
            out->common[kind] = shared_folder(first[kind], path.data, out->common[kind]);
        first[kind] = first[kind] != NULL ? first[kind] : path.data;
    }
    if (first[0] != NULL)
        out->common[1] = 1;
    return BM_OK;
}

/* The name of the option that sets the compression of these files, for messages. */
static const char *option_of(const bm_kept_naming *asked)
{
    return asked->written == BM_WRITTEN_REMOVED ? "removed" : "kept";
}

/* Fail if a name occurs twice, or both as a file and as a folder. In byte order, a name in the
 * folder NAME need not follow NAME directly ("a", "a.b", "a/c"). So each folder of each name is
 * looked up. */
static bm_status check_distinct(char *const *names, size_t n, const bm_kept_naming *asked,
                                bm_error *err)
{
    bm_status status = BM_OK;
    const char *clash = NULL;
    char **sorted;
    BM_TRY(bm_new(&sorted, n, err));
    memcpy(sorted, names, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, bm_order_text);
    for (size_t i = 1; i < n && clash == NULL; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            clash = sorted[i];
    for (size_t i = 0; i < n && clash == NULL && status == BM_OK; i++) {
        char *folder = bm_strdup(names[i]), *slash;
        if (folder == NULL)
            status = bm_fail_nomem(err, strlen(names[i]) + 1);
        while (clash == NULL && folder != NULL && (slash = strrchr(folder, '/')) != NULL) {
            *slash = '\0';
            char **hit = bsearch(&folder, sorted, n, sizeof *sorted, bm_order_text);
            clash = hit != NULL ? *hit : NULL;
        }
        bm_free(folder);
    }
    if (clash != NULL)
        status =
            bm_fail_field(err, option_of(asked),
                          "two inputs would both be %s as %s (leave one out, or use `%s` %sno)",
                          asked->written == BM_WRITTEN_KEPT ? "kept" : "written", clash,
                          option_of(asked), asked->kept != BM_RECORDS_SAME ? "same, or " : "");
    bm_free(sorted);
    return status;
}

/* Check, before anything is read, that a name is not too long for file systems. */
static bm_status check_length(const char *name, const bm_kept_naming *asked, bm_error *err)
{
    const char *slash = strrchr(name, '/'), *last = slash != NULL ? slash + 1 : name;
    const size_t len = strlen(last);
    return len <= NAME_MAX
               ? BM_OK
               : bm_fail_field(
                     err, option_of(asked),
                     "the records of %.300s would be written to a name of %zu bytes (at most "
                     "%d; `%s` %sno)",
                     last, len, NAME_MAX, option_of(asked),
                     asked->kept != BM_RECORDS_SAME ? "same, or " : "");
}

/* Make the name of a kept file. `below` is the input's path relative to the common folder, or "-"
 * for standard input. */
static bm_status make_name(const bm_kept_source *source, const char *below, const names_naming *how,
                           char **out, bm_error *err)
{
    bm_buf name = {0};
    const char *slash = strrchr(below, '/');
    const char *last = slash != NULL ? slash + 1 : below;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_buf_add_format(&name, err, "%s/", how->base));
    BM_TRY_OUT(bm_buf_add(&name, below, (size_t)(last - below), err));
    BM_TRY_OUT(add_file_name(&name, last, source, how, err));
    status = bm_buf_end(&name, err);
out:
    if (status != BM_OK)
        bm_buf_reset(&name);
    else
        *out = name.data;
    return status;
}

/* Make the name of the file of a single input. If the records removed from a .tsv file were written
 * to removed.tsv, they would take the name of the table. So the file gets a name in a folder, as
 * with several inputs. */
static bm_status single_name(const bm_kept_source *source, const names_naming *how, char **out,
                             bm_error *err)
{
    bm_buf name = {0};
    const char *slash = strrchr(source->name, '/');
    const char *last = slash != NULL ? slash + 1 : source->name;
    bm_status status = BM_OK;
    BM_TRY_OUT(add_file_name(&name, last, source, how, err));
    BM_TRY_OUT(bm_buf_end(&name, err));
    if (strcmp(name.data, BM_FILE_REMOVED) == 0) {
        const names_naming within = {.asked = how->asked, .base = how->base};
        bm_buf_reset(&name);
        return make_name(source, last, &within, out, err);
    }
out:
    if (status != BM_OK)
        bm_buf_reset(&name);
    else
        *out = name.data;
    return status;
}

/* Set names[0 … n-1] to relative paths without "..", which the caller frees with bm_free.
 * BM_ERR_USAGE: two names are the same, or one name is a folder in another. */
static bm_status names_of_kept(const bm_kept_source *sources, size_t n, const bm_kept_naming *asked,
                               char **names, bm_error *err)
{
    static const char *const bases[] = {[BM_WRITTEN_KEPT] = BM_FILE_KEPT,
                                        [BM_WRITTEN_REMOVED] = BM_FILE_REMOVED_RECORDS,
                                        [BM_WRITTEN_ANNOTATED] = BM_FILE_ANNOTATED};
    const names_naming how = {.asked = *asked, .base = bases[asked->written], .single = n == 1};
    for (size_t i = 0; i < n; i++)
        names[i] = NULL;
    if (n == 0)
        return BM_OK;
    if (n == 1)
        return single_name(&sources[0], &how, &names[0], err);
    plain_list plain = {.paths = bm_alloc_zero(n, sizeof *plain.paths), .n = n};
    if (plain.paths == NULL)
        return bm_fail_nomem(err, n * sizeof *plain.paths);
    bm_status status = BM_OK;
    BM_TRY_OUT(plain_paths(sources, asked->cwd, &plain, err));
    for (size_t i = 0; i < n; i++) {
        const char *below = plain.paths[i] != NULL
                                ? plain.paths[i] + plain.common[bm_is_address(sources[i].name)]
                                : "-";
        BM_TRY_OUT(make_name(&sources[i], below, &how, &names[i], err));
        BM_TRY_OUT(check_length(names[i], asked, err));
    }
    status = check_distinct(names, n, asked, err);
out:
    for (size_t i = 0; i < n; i++) {
        bm_free(plain.paths[i]);
        if (status != BM_OK) {
            bm_free(names[i]);
            names[i] = NULL;
        }
    }
    bm_free(plain.paths);
    return status;
}

/* === kept files === */

static bm_compression compression_of(bm_records kept, bm_compression own)
{
    switch (kept) {
    case BM_RECORDS_GZ:
        return BM_COMPRESSION_GZ;
    case BM_RECORDS_ZST:
        return BM_COMPRESSION_ZST;
    case BM_RECORDS_SAME:
        return own;
    default:
        return BM_COMPRESSION_NONE;
    }
}

/* If inputs of jobs on several machines have the same name, replace the names by the paths at which
 * the inputs are now. Returns false if no name changes. */
static bool name_by_path(bm_kept_source *sources, const bm_input_set *set)
{
    bool other = false;
    for (size_t i = 0; i < bm_input_set_count(set); i++) {
        const bm_source *source = bm_input_set_source(set, i);
        other = other || strcmp(source->path, sources[i].name) != 0;
        sources[i].name = source->path;
    }
    return other;
}

/* Make the names of the files, one per input of the set; a stream needs no names. BM_ERR_USAGE: two
 * files would have the same name. `r` can be reset whatever the status. */
static bm_status kept_files_name(bm_kept_files *r, const bm_kept_cfg *cfg, bm_error *err)
{
    const bm_input_set *set = cfg->set;
    size_t n = bm_input_set_count(set);
    bm_kept_source *sources = bm_alloc_zero(n, sizeof *sources);
    bm_kept_naming naming;
    bm_status status = BM_OK;
    char *cwd = NULL;
    if (cfg->write != NULL) {
        bm_free(sources);
        r->n = n;
        return BM_OK;
    }
    r->names = bm_alloc_zero(n, sizeof *r->names);
    r->compressions = bm_alloc_zero(n, sizeof *r->compressions);
    if (sources == NULL || r->names == NULL || r->compressions == NULL) {
        status = bm_fail_nomem(err, n * sizeof *sources);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        const bm_source *source = bm_input_set_source(set, i);
        sources[i].name = strcmp(source->path, "-") == 0 ? "-" : source->name;
        sources[i].compression = source->compression;
        r->compressions[i] = compression_of(cfg->kept, source->compression);
    }
    cwd = n > 1 ? getcwd(NULL, 0) : strdup("/"); /* not used for a single input */
    if (cwd == NULL) {
        status = bm_fail_errno(err, errno, ".", "cannot tell the current directory");
        goto out;
    }
    naming = (bm_kept_naming){
        .format = bm_input_set_format(set), .kept = cfg->kept, .cwd = cwd, .written = cfg->written};
    status = names_of_kept(sources, n, &naming, r->names, err);
    if (status == BM_ERR_USAGE && name_by_path(sources, set)) {
        bm_error again = {0};
        status = names_of_kept(sources, n, &naming, r->names, &again);
        if (status != BM_OK && status != BM_ERR_USAGE && err != NULL)
            *err = again;
    }
    if (status == BM_OK)
        r->n = n;
out:
    free(cwd);
    bm_free(sources);
    return status;
}

static bm_pack_lanes pack_lanes(const bm_kept_cfg *cfg)
{
    const bm_input_resources resources = bm_input_set_resources(cfg->set);
    return (bm_pack_lanes){resources.threads, resources.memory / (cfg->halves != NULL ? 2 : 1),
                           cfg->pool};
}

/* Open the file of input `index`, or the stream for all inputs, and set the compression. */
static bm_status kept_file_open(const bm_kept_files *files, const bm_kept_cfg *cfg, size_t index,
                                bm_out_file **out, bm_error *err)
{
    const bm_pack_lanes lanes = pack_lanes(cfg);
    const bool tables = bm_format_is_table(bm_input_set_format(cfg->set));
    if (cfg->write != NULL) {
        BM_TRY(bm_out_file_stream(cfg->write, cfg->write_ctx, out, err));
        return bm_out_file_compress(*out, compression_of(cfg->kept, BM_COMPRESSION_NONE), lanes,
                                    err);
    }
    BM_TRY(bm_out_dir_file(cfg->dir, files->names[index], out, err));
    if (!tables) /* the table library compresses its own files */
        BM_TRY(bm_out_file_compress(*out, files->compressions[index], lanes, err));
    bm_out_file_digest_early(*out, 0);
    return BM_OK;
}

static void kept_files_reset(bm_kept_files *files)
{
    for (size_t i = 0; files->names != NULL && i < files->n; i++)
        bm_free(files->names[i]);
    bm_free(files->names);
    bm_free(files->compressions);
    *files = (bm_kept_files){0};
}

/* === kept id list ===
 *
 * Writes the ids of kept documents, one per line, for formats that have no records to copy. */

typedef struct id_list {
    bm_out_file *file;
    bm_buf line;
} id_list;

static void id_list_close(void *state)
{
    id_list *list = state;
    if (list == NULL)
        return;
    bm_out_file_abort(list->file);
    bm_buf_reset(&list->line);
    bm_free(list);
}

static bm_status id_list_open(const bm_kept_cfg *cfg, void **state, bm_error *err)
{
    id_list *list = NULL;
    BM_TRY(bm_new_zero(&list, 1, err));
    bm_status status = cfg->write != NULL
                           ? kept_file_open(NULL, cfg, 0, &list->file, err)
                           : bm_out_dir_file(cfg->dir, BM_FILE_KEPT_IDS, &list->file, err);
    if (status == BM_OK)
        *state = list;
    else
        id_list_close(list);
    return status;
}

static bm_status id_list_add(void *state, bm_str id, bm_error *err)
{
    id_list *list = state;
    if (list->file == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "a kept id after the end");
    list->line.len = 0;
    BM_TRY(bm_tsv_escape(&list->line, id, err));
    BM_TRY(bm_buf_add(&list->line, "\n", 1, err));
    return bm_out_file_write(list->file, list->line.data, list->line.len, err);
}

static bm_status id_list_finish(void *state, bm_error *err)
{
    id_list *list = state;
    bm_out_file *file = list->file;
    list->file = NULL;
    return file != NULL ? bm_out_file_close(file, err) : BM_OK;
}

const bm_kept_writer_ops bm_kept_ids = {.wants_ids = true,
                                        .open = id_list_open,
                                        .id = id_list_add,
                                        .finish = id_list_finish,
                                        .close = id_list_close};

/* === kept records ===
 *
 * Writes kept records byte for byte, one kept file at a time, in the order of the inputs. The next
 * file is begun while blocks of the previous file are still being compressed. In uncompressed
 * files, any number of threads may write reserved bytes. Elements of a JSON array are written as an
 * array again. If the input has a byte order mark before the bracket, the kept file has one too.
 *
 * A stream is one file for all inputs. A byte order mark is written only at the beginning of the
 * stream. If the last record of an input has no line ending, one is written before the next
 * input. */

typedef struct records {
    bm_kept_cfg cfg;
    bm_kept_files files;
    size_t next; /* all inputs with an index below `next` have their files */
    bm_out_file *file;
    /* complete files that are still being compressed; the entries from first_ended to first_ended +
     * n_ended - 1 */
    bm_out_file **ended;
    size_t first_ended, n_ended;
    bool fresh;        /* no byte of the open input was written yet */
    char last;         /* the last byte written by records_write */
    bool array;        /* records are elements of a JSON array */
    bool parts;        /* the file is compressed, and each record is a separate member */
    uint64_t elements; /* elements in the open file */
    bool marked;       /* the open file begins with a byte order mark */
    uint64_t reserved; /* reserved bytes of the open file */
} records;

static void records_close(void *state)
{
    records *r = state;
    if (r == NULL)
        return;
    bm_out_file_abort(r->file);
    for (size_t i = 0; i < r->n_ended; i++)
        bm_out_file_abort(r->ended[r->first_ended + i]);
    bm_pack_pool_close(r->cfg.pool);
    kept_files_reset(&r->files);
    bm_free_all(r->ended, r);
}

/* Open a pool if more than one file is compressed. */
static bm_status open_pool(records *r, bm_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < r->files.n; i++)
        n += r->files.compressions[i] != BM_COMPRESSION_NONE;
    if (n < 2)
        return BM_OK;
    BM_TRY(bm_new(&r->ended, r->files.n, err));
    return bm_pack_pool_open(pack_lanes(&r->cfg), true, &r->cfg.pool, err);
}

static bm_status records_open(const bm_kept_cfg *cfg, void **state, bm_error *err)
{
    records *r = NULL;
    BM_TRY(bm_new_zero(&r, 1, err));
    r->cfg = *cfg;
    r->array = bm_input_set_format(cfg->set) == BM_FORMAT_JSON;
    r->parts = bm_input_set_format(cfg->set) == BM_FORMAT_WET;
    bm_status status = BM_OK;
    BM_TRY_OUT(kept_files_name(&r->files, cfg, err));
    status = cfg->write != NULL ? kept_file_open(&r->files, cfg, 0, &r->file, err)
                                : bm_out_dir_expect(cfg->dir, (const char *const *)r->files.names,
                                                    r->files.n, err);
    if (status == BM_OK && cfg->write == NULL)
        status = open_pool(r, err);
out:
    if (status == BM_OK)
        *state = r;
    else
        records_close(r);
    return status;
}

static bm_status write_text(records *r, const char *text, bm_error *err)
{
    return bm_out_file_write(r->file, text, strlen(text), err);
}

/* Close ended files, in order, until at most `most` are left and the pool is not crowded. */
static bm_status close_ended(records *r, size_t most, bm_error *err)
{
    bm_status status = BM_OK;
    while (status == BM_OK && r->n_ended > 0 &&
           (r->n_ended > most || bm_pack_pool_is_crowded(r->cfg.pool))) {
        r->n_ended--;
        status = bm_out_file_close(r->ended[r->first_ended++], err);
    }
    return status;
}

static bm_status close_file(records *r, bm_error *err)
{
    if (r->file == NULL)
        return BM_OK;
    bm_status status = BM_OK;
    if (r->array)
        status = write_text(r, r->elements > 0 ? "\n]\n" : "[]\n", err);
    bm_out_file *file = r->file;
    r->file = NULL;
    if (status != BM_OK) {
        bm_out_file_abort(file);
        return status;
    }
    if (r->cfg.pool == NULL || !bm_out_file_end(file)) {
        status = close_ended(r, 0, err);
        if (status == BM_OK)
            return bm_out_file_close(file, err);
        bm_out_file_abort(file);
        return status;
    }
    r->ended[r->first_ended + r->n_ended++] = file;
    return close_ended(r, SIZE_MAX, err);
}

static bm_status records_end_file(void *state, bm_error *err)
{
    records *r = state;
    return r->cfg.write != NULL ? BM_OK : close_file(r, err);
}

static bm_status records_begin_file(void *state, size_t index, bm_error *err)
{
    records *r = state;
    r->fresh = true;
    if (r->cfg.write != NULL)
        return BM_OK;
    if (index >= r->files.n || index < r->next || r->file != NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "kept files are begun in order, one at a time");
    for (; r->next <= index; r->next++) {
        /* an input that was left out gets an empty file */
        BM_TRY(close_file(r, err));
        BM_TRY(kept_file_open(&r->files, &r->cfg, r->next, &r->file, err));
        r->elements = r->reserved = 0;
        r->marked = false;
    }
    return BM_OK;
}

/* Called before bytes of an input are written. If these are the first bytes of the input, and the
 * stream has bytes of an earlier input: remove a byte order mark from *raw, and write a line ending
 * if the earlier input does not end with one. Elements of an array need no line ending. */
static bm_status join_stream(records *r, bm_str *raw, bm_error *err)
{
    if (!r->fresh || r->cfg.write == NULL || bm_out_file_bytes(r->file) == 0)
        return BM_OK;
    const size_t mark = bm_bom_bytes(raw->data, raw->len);
    *raw = (bm_str){raw->data + mark, raw->len - mark};
    return r->array || r->last == '\n' ? BM_OK : write_text(r, "\n", err);
}

/* Write WET records, each as a separate member of the compressed file. */
static bm_status write_parts(records *r, bm_str raw, bm_error *err)
{
    bm_scan scan = {0};
    while (raw.len > 0) {
        const size_t end = bm_wet_end(&scan, raw.data, 0, raw.len);
        const size_t n = end == BM_SCAN_MORE ? raw.len : end;
        BM_TRY(bm_out_file_write(r->file, raw.data, n, err));
        BM_TRY(bm_out_file_end_part(r->file, err));
        raw = (bm_str){raw.data + n, raw.len - n};
    }
    return BM_OK;
}

static bm_status records_write(void *state, bm_str raw, bm_error *err)
{
    records *r = state;
    if (r->file == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "a kept record without a file");
    BM_TRY(join_stream(r, &raw, err));
    r->fresh = false;
    if (raw.len == 0) /* there is only a byte order mark */
        return BM_OK;
    r->last = raw.data[raw.len - 1];
    bool mark =
        r->array && r->elements == 0 && !r->marked && bm_bom_bytes(raw.data, raw.len) == raw.len;
    if (mark)
        r->marked = true;
    else if (r->array) {
        BM_TRY(write_text(r, r->elements++ > 0 ? ",\n" : "[\n", err));
    }
    return r->parts ? write_parts(r, raw, err) : bm_out_file_write(r->file, raw.data, raw.len, err);
}

static bm_status records_more(void *state, bm_str bytes, bm_error *err)
{
    records *r = state;
    return r->file != NULL ? bm_out_file_write(r->file, bytes.data, bytes.len, err)
                           : bm_fail(err, BM_ERR_INTERNAL, "more of a record without a file");
}

static bm_status records_reserve(void *state, uint64_t len, bm_kept_place *out, bm_error *err)
{
    records *r = state;
    if (r->file == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "kept records without a file");
    if (r->array || r->cfg.write != NULL ||
        r->files.compressions[r->next - 1] != BM_COMPRESSION_NONE)
        return BM_OK;
    *out = (bm_kept_place){r->file, r->reserved};
    r->reserved += len;
    return BM_OK;
}

static bm_status records_finish(void *state, bm_error *err)
{
    records *r = state;
    BM_TRY(close_file(r, err));
    if (r->cfg.write == NULL && r->next < r->files.n)
        BM_TRY(records_begin_file(r, r->files.n - 1, err));
    BM_TRY(close_file(r, err));
    return close_ended(r, 0, err);
}

const bm_kept_writer_ops bm_kept_records = {.names_files = true,
                                            .open = records_open,
                                            .begin_file = records_begin_file,
                                            .write = records_write,
                                            .more = records_more,
                                            .reserve = records_reserve,
                                            .end_file = records_end_file,
                                            .finish = records_finish,
                                            .close = records_close};

/* === kept tables ===
 *
 * Writes kept rows of tables, as files of the same kind. A record is passed as the number of its
 * row, from 0 (source_columns.c), and a label has the values for the added columns. The table
 * library writes a file when all rows of the file are known, and a stream when the rows of all
 * tables are known.
 *
 * Threads: several files are written at once, each by one thread (a lane), while the rows of the
 * next file are collected. Files are begun in input order, so that the failure of the first failing
 * input is reported. Each lane has a share of the memory. If a table does not fit into this share,
 * it is written again, alone. */

/* The kept rows of one input. */
typedef struct tables_part {
    /* index: index of the input; from: offset in tables_file.rows of the byte with the input's
     * first bit */
    size_t index, from;
    uint64_t n_rows; /* 1 + number of the last kept row */
    size_t cut;      /* index in tables_file.cuts of the input's first cut */
} tables_part;

/* A file to write, and the rows kept in it. */
typedef struct tables_file {
    struct tables_tables *of;
    bm_buf rows;   /* one bit per row: is it kept? */
    bm_buf parts;  /* an array of tables_part, one per input; the last one may not be complete */
    bm_buf labels; /* an array of bm_table_label, one per kept row, if there are labels */
    bm_buf cuts;   /* an array of bm_table_text_cut, if parts of texts are cut out */
    bm_out_file *file; /* open while the library writes */
    bm_status status;  /* status of writing to `file` */
    bm_error error;    /* the error of `status` */
} tables_file;

typedef struct tables_tables {
    bm_kept_cfg cfg;
    bm_kept_files files;
    /* all inputs with an index below `next` were begun; if `inside`, input `begun` is open */
    size_t next, begun;
    bool inside;
    tables_file collected; /* the file with the rows that are being collected */
    uint32_t n_lanes;      /* number of threads that write files; 1: the caller's thread writes */
    uint32_t n_started;
    pthread_t *lanes;
    bm_queue *queue;         /* files to write (tables_file *); NULL: no lane was started */
    pthread_rwlock_t memory; /* takes the place of cfg.halves if that is NULL */
    pthread_mutex_t lock;    /* protects the members below */
    pthread_cond_t ended;
    uint32_t n_ended; /* lanes that have ended */
    bool stop;        /* the result is no longer wanted */
    size_t failed;    /* the first input that failed, if the status below is not BM_OK */
    bm_status status; /* status of the first failure */
    bm_error error;
} tables_tables;

static void reset_file(tables_file *f)
{
    bm_out_file_abort(f->file);
    bm_buf_reset(&f->rows);
    bm_buf_reset(&f->parts);
    bm_buf_reset(&f->labels);
    bm_buf_reset(&f->cuts);
}

static bool is_stopped(tables_tables *t)
{
    pthread_mutex_lock(&t->lock);
    const bool stop = t->stop;
    pthread_mutex_unlock(&t->lock);
    return stop;
}

static void stop_lanes(tables_tables *t)
{
    void *left = NULL;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_mutex_unlock(&t->lock);
    if (t->queue == NULL)
        return;
    bm_queue_abort(t->queue);
    while (t->n_started > 0)
        (void)pthread_join(t->lanes[--t->n_started], NULL);
    while (bm_queue_drain(t->queue, &left)) {
        reset_file(left);
        bm_free(left);
    }
}

static void tables_close(void *state)
{
    tables_tables *t = state;
    if (t == NULL)
        return;
    stop_lanes(t);
    bm_queue_free(t->queue);
    bm_free(t->lanes);
    reset_file(&t->collected);
    kept_files_reset(&t->files);
    pthread_cond_destroy(&t->ended);
    pthread_mutex_destroy(&t->lock);
    pthread_rwlock_destroy(&t->memory);
    bm_free(t);
}

static uint32_t lanes_of(const tables_tables *t)
{
    const uint32_t threads =
        bm_input_set_resources(t->cfg.set).threads / (t->cfg.halves != NULL ? 2 : 1);
    const size_t most = t->cfg.write != NULL ? 1 : t->files.n;
    return threads <= 1 || most <= 1 ? 1 : threads < most ? threads : (uint32_t)most;
}

static bm_status tables_open(const bm_kept_cfg *cfg, void **state, bm_error *err)
{
    tables_tables *t = NULL;
    BM_TRY(bm_new_zero(&t, 1, err));
    t->cfg = *cfg;
    t->collected.of = t;
    pthread_mutex_init(&t->lock, NULL);
    pthread_rwlock_init(&t->memory, NULL);
    pthread_cond_init(&t->ended, NULL);
    bm_status status = BM_OK;
    BM_TRY_OUT(kept_files_name(&t->files, cfg, err));
    t->n_lanes = lanes_of(t);
    if (cfg->write == NULL)
        status = bm_out_dir_expect(cfg->dir, (const char *const *)t->files.names, t->files.n, err);
out:
    if (status == BM_OK)
        *state = t;
    else
        tables_close(t);
    return status;
}

static int write_bytes(void *ctx, const char *data, size_t len)
{
    tables_file *f = ctx;
    f->status = is_stopped(f->of) ? bm_fail(&f->error, BM_ERR_CANCELLED, "interrupted")
                                  : bm_out_file_write(f->file, data, len, &f->error);
    return f->status != BM_OK;
}

/* Write the kept rows of n parts, one after another. `how` has the settings common to all parts. */
static bm_status keep_parts(const bm_input_set *set, const tables_part *parts, size_t n,
                            const char *rows, const bm_table_kept *how, bm_error *err)
{
    const uint64_t n_cuts = how->n_cuts;
    const char **names = NULL;
    bm_table_kept *kept = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new(&names, n, err));
    BM_TRY_OUT(bm_new(&kept, n, err));
    for (size_t i = 0; i < n; i++) {
        const bm_source *source = bm_input_set_source(set, parts[i].index);
        names[i] = source->name;
        kept[i] = *how;
        kept[i].path = bm_source_place(source);
        kept[i].bytes = bm_table_bytes_of(source);
        kept[i].parquet = bm_input_set_format(set) == BM_FORMAT_PARQUET;
        kept[i].rows = rows != NULL ? (const uint8_t *)rows + parts[i].from : NULL;
        kept[i].n_rows = parts[i].n_rows;
        kept[i].cuts = how->cuts != NULL ? how->cuts + parts[i].cut : NULL;
        kept[i].n_cuts = (i + 1 < n ? parts[i + 1].cut : n_cuts) - parts[i].cut;
        kept[i].more = i + 1 < n ? &kept[i + 1] : NULL;
    }
    status = bm_table_keep(names, kept, err);
out:
    bm_free(kept);
    bm_free(names);
    return status;
}

/* Write a file. Usually one thread writes it, with a lane's share of the memory. If `again` is set,
 * or there is only one lane, it is written with all threads and all memory. */
static bm_status write_with(tables_file *f, bool again, bm_error *err)
{
    const tables_tables *t = f->of;
    const bool alone = again || t->n_lanes == 1;
    const tables_part *parts = (const tables_part *)f->parts.data;
    const bm_input_resources resources = bm_input_set_resources(t->cfg.set);
    const uint64_t share = resources.memory / t->n_lanes / (t->cfg.halves != NULL ? 2 : 1);
    /* If the job can be resumed, the file was not removed when it was aborted, so it is opened
     * again. */
    if (!again || bm_out_dir_file_again(t->cfg.dir, t->files.names[parts[0].index], 0, &f->file,
                                        NULL) != BM_OK)
        BM_TRY(kept_file_open(&t->files, &t->cfg, parts[0].index, &f->file, err));
    static const bm_table_label none;
    const bm_table_label *labels = f->labels.len > 0 ? (const bm_table_label *)f->labels.data
                                   : t->cfg.written == BM_WRITTEN_ANNOTATED ? &none
                                                                            : NULL;
    const bm_table_kept how = {.labels = labels,
                               .n_labels = f->labels.len / sizeof(bm_table_label),
                               .cuts = (const bm_table_text_cut *)f->cuts.data,
                               .n_cuts = f->cuts.len / sizeof(bm_table_text_cut),
                               .text = t->cfg.set->rules.text[0],
                               .threads = alone ? resources.threads : 1,
                               .memory = alone || share == 0 ? resources.memory : share,
                               .write = write_bytes,
                               .write_ctx = f};
    f->status = BM_OK;
    bm_status status =
        keep_parts(t->cfg.set, parts, f->parts.len / sizeof *parts, f->rows.data, &how, err);
    /* report the failure of writing the output instead of the library's error */
    if (f->status != BM_OK) {
        status = f->status;
        if (err != NULL)
            *err = f->error;
    }
    bm_out_file *file = f->file;
    f->file = NULL;
    if (status == BM_OK)
        return bm_out_file_close(file, err);
    bm_out_file_abort(file);
    return status;
}

/* Write a file with its collected rows. If memory does not suffice and there are several lanes,
 * write it a second time, alone. */
static bm_status write_file(tables_file *f, bm_error *err)
{
    if (f->parts.len == 0) /* no input could be read, and without a schema there is no table */
        return BM_OK;
    pthread_rwlock_t *memory = f->of->cfg.halves != NULL ? f->of->cfg.halves : &f->of->memory;
    pthread_rwlock_rdlock(memory);
    bm_status status = write_with(f, false, err);
    pthread_rwlock_unlock(memory);
    if (status != BM_ERR_NOMEM || f->of->n_lanes == 1)
        return status;
    pthread_rwlock_wrlock(memory);
    status = write_with(f, true, err);
    pthread_rwlock_unlock(memory);
    return status;
}

static void fail_table(tables_tables *t, size_t index, bm_status status, const bm_error *error)
{
    pthread_mutex_lock(&t->lock);
    if (t->status == BM_OK || index < t->failed) {
        t->failed = index;
        t->status = status;
        t->error = *error;
    }
    pthread_mutex_unlock(&t->lock);
    bm_queue_abort(t->queue); /* the files of earlier inputs were begun before, and are completed */
}

static void *run_tables(void *arg)
{
    tables_tables *t = arg;
    void *next = NULL;
    while (bm_queue_pop(t->queue, 0, &next)) {
        tables_file *f = next;
        const size_t index = f->parts.len > 0 ? ((tables_part *)f->parts.data)->index : 0;
        bm_error error = {0};
        const bm_status status = write_file(f, &error);
        reset_file(f);
        bm_free(f);
        if (status != BM_OK)
            fail_table(t, index, status, &error);
    }
    pthread_mutex_lock(&t->lock);
    t->n_ended++;
    pthread_cond_signal(&t->ended);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Called after the last rows, or after a failure of a lane. Waits until all lanes have ended, or
 * the job is cancelled. Returns the failure of the first failing input, or BM_ERR_CANCELLED. */
static bm_status end_lanes(tables_tables *t, bm_error *err)
{
    bm_status status = BM_OK;
    bm_queue_close(t->queue);
    pthread_mutex_lock(&t->lock);
    while (t->n_ended < t->n_started && status == BM_OK) {
        bm_wait_shortly(&t->ended, &t->lock);
        pthread_mutex_unlock(&t->lock);
        status = bm_check_cancelled(t->cfg.set->callbacks, err);
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    BM_TRY(status); /* tables_close stops the lanes */
    if (t->status != BM_OK && err != NULL)
        *err = t->error;
    return t->status;
}

static bm_status start_lanes(tables_tables *t, bm_error *err)
{
    BM_TRY(bm_queue_open(1, &t->queue, err));
    BM_TRY(bm_new(&t->lanes, t->n_lanes, err));
    for (; t->n_started < t->n_lanes; t->n_started++) {
        const int code = bm_thread_start(&t->lanes[t->n_started], run_tables, t);
        if (code != 0 && t->n_started == 0)
            return bm_fail_thread(code, err);
        if (code != 0)
            break;
    }
    return BM_OK;
}

/* Write the file with the collected rows, or pass it to a lane. */
static bm_status end_collected(tables_tables *t, bm_error *err)
{
    bm_status status = BM_OK;
    tables_file *f = NULL;
    if (t->n_lanes == 1)
        BM_TRY_OUT(write_file(&t->collected, err));
    else {
        if (t->queue == NULL)
            BM_TRY(start_lanes(t, err));
        BM_TRY(bm_new_zero(&f, 1, err));
        *f = t->collected;
        t->collected = (tables_file){.of = t};
        if (bm_queue_push(t->queue, f))
            return BM_OK;
        reset_file(f);
        bm_free(f);
        return end_lanes(t, err);
    }
out:
    reset_file(&t->collected);
    t->collected = (tables_file){.of = t};
    return status;
}

static bm_status tables_end_file(void *state, bm_error *err)
{
    tables_tables *t = state;
    if (!t->inside)
        return BM_OK;
    t->inside = false;
    if (bm_input_set_source(t->cfg.set, t->begun)->lost)
        t->collected.parts.len -= sizeof(tables_part);
    return t->cfg.write == NULL ? end_collected(t, err) : BM_OK;
}

static bm_status tables_begin_file(void *state, size_t index, bm_error *err)
{
    tables_tables *t = state;
    if (index >= t->files.n || index < t->next || t->inside)
        return bm_fail(err, BM_ERR_INTERNAL, "kept files are begun in order, one at a time");
    for (; t->next <= index; t->next++) {
        /* an input that was left out is ended without rows */
        BM_TRY(tables_end_file(t, err));
        const tables_part part = {t->next, t->collected.rows.len, 0,
                                  t->collected.cuts.len / sizeof(bm_table_text_cut)};
        BM_TRY(bm_buf_add(&t->collected.parts, &part, sizeof part, err));
        t->begun = t->next;
        t->inside = true;
    }
    return BM_OK;
}

/* Set the bit of a row in the last part. All bits between the last kept row and this row become
 * 0. */
static bm_status set_row(tables_file *f, uint64_t row, bm_error *err)
{
    static const char zeros[4096];
    tables_part *part = (tables_part *)(f->parts.data + f->parts.len) - 1;
    const size_t at = part->from + row / 8;
    while (at >= f->rows.len) {
        BM_TRY(bm_buf_add(&f->rows, zeros, sizeof zeros, err));
    }
    f->rows.data[at] = (char)((unsigned char)f->rows.data[at] | 1u << row % 8);
    part->n_rows = row + 1;
    return BM_OK;
}

static bm_status tables_write(void *state, bm_str raw, bm_error *err)
{
    tables_tables *t = state;
    for (size_t at = 0; at < raw.len; at += sizeof(uint64_t)) {
        uint64_t row;
        memcpy(&row, raw.data + at, sizeof row);
        BM_TRY(set_row(&t->collected, row, err));
    }
    return BM_OK;
}

/* Append the label of the last row, or a cut in its text. */
static bm_status tables_more(void *state, bm_str bytes, bm_error *err)
{
    tables_tables *t = state;
    return bm_buf_add(t->cfg.written == BM_WRITTEN_ANNOTATED ? &t->collected.labels
                                                             : &t->collected.cuts,
                      bytes.data, bytes.len, err);
}

static bm_status tables_finish(void *state, bm_error *err)
{
    tables_tables *t = state;
    BM_TRY(tables_end_file(t, err));
    if (t->next < t->files.n)
        BM_TRY(tables_begin_file(t, t->files.n - 1, err));
    BM_TRY(tables_end_file(t, err));
    if (t->cfg.write != NULL)
        return end_collected(t, err);
    return t->queue != NULL ? end_lanes(t, err) : BM_OK;
}

static int write_nowhere(void *ctx, const char *data, size_t len)
{
    (void)ctx, (void)data, (void)len;
    return 0;
}

bm_status bm_kept_writer_check_stream(const bm_input_set *set, bm_error *err)
{
    const bm_table_kept how = {.write = write_nowhere};
    const size_t n = bm_format_is_table(bm_input_set_format(set)) ? bm_input_set_count(set) : 0;
    for (size_t i = 1; i < n; i++) {
        const tables_part parts[] = {{.index = 0}, {.index = i}};
        bm_error first = {0};
        if (keep_parts(set, parts, 2, "", &how, &first) != BM_ERR_USAGE)
            continue;
        if (err != NULL)
            *err = first;
        return BM_ERR_USAGE;
    }
    return BM_OK;
}

const bm_kept_writer_ops bm_kept_tables = {.names_files = true,
                                           .open = tables_open,
                                           .begin_file = tables_begin_file,
                                           .write = tables_write,
                                           .more = tables_more,
                                           .end_file = tables_end_file,
                                           .finish = tables_finish,
                                           .close = tables_close};

/* === kept writer === */

struct bm_kept_writer {
    const bm_kept_writer_ops *ops;
    void *state;
};

static const bm_kept_writer_ops kept_nothing = {0};

static const bm_kept_writer_ops *const writers[] = {
    [BM_FORMAT_AUTO] = &kept_nothing,      [BM_FORMAT_JSONL] = &bm_kept_records,
    [BM_FORMAT_TSV] = &bm_kept_records,    [BM_FORMAT_CSV] = &bm_kept_records,
    [BM_FORMAT_LINES] = &bm_kept_records,  [BM_FORMAT_FILES] = &bm_kept_ids,
    [BM_FORMAT_HASHES] = &bm_kept_ids,     [BM_FORMAT_JSON] = &bm_kept_records,
    [BM_FORMAT_ARROW] = &bm_kept_tables,   [BM_FORMAT_KEYS] = &kept_nothing,
    [BM_FORMAT_PARQUET] = &bm_kept_tables, [BM_FORMAT_SIGNATURES] = &kept_nothing,
    [BM_FORMAT_WET] = &bm_kept_records,    [BM_FORMAT_MIXED] = &kept_nothing};

static const bm_kept_writer_ops *writer_of(const bm_input_set *set, bm_records kept)
{
    if (kept == BM_RECORDS_NOT_WRITTEN)
        return &kept_nothing;
    return bm_input_set_is_stream(set) ? &bm_kept_ids : writers[bm_input_set_format(set)];
}

bm_status bm_kept_writer_check_names(const bm_kept_cfg *cfg, bm_error *err)
{
    bm_kept_files files = {0};
    if (!writer_of(cfg->set, cfg->kept)->names_files)
        return BM_OK;
    const bm_status status = kept_files_name(&files, cfg, err);
    kept_files_reset(&files);
    return status;
}

bm_status bm_kept_writer_open(const bm_kept_cfg *cfg, bm_kept_writer **out, bm_error *err)
{
    bm_kept_writer *writer = NULL;
    BM_TRY(bm_new_zero(&writer, 1, err));
    writer->ops = writer_of(cfg->set, cfg->kept);
    bm_status status =
        writer->ops->open != NULL ? writer->ops->open(cfg, &writer->state, err) : BM_OK;
    if (status == BM_OK)
        *out = writer;
    else
        bm_free(writer);
    return status;
}

bool bm_kept_writer_wants_ids(const bm_kept_writer *writer)
{
    return writer->ops->wants_ids;
}

bm_status bm_kept_writer_begin_file(bm_kept_writer *writer, size_t index, bm_error *err)
{
    return writer->ops->begin_file != NULL ? writer->ops->begin_file(writer->state, index, err)
                                           : BM_OK;
}

bm_status bm_kept_writer_write(bm_kept_writer *writer, bm_str raw, bm_error *err)
{
    return writer->ops->write != NULL ? writer->ops->write(writer->state, raw, err) : BM_OK;
}

bm_status bm_kept_writer_more(bm_kept_writer *writer, bm_str bytes, bm_error *err)
{
    return writer->ops->more != NULL ? writer->ops->more(writer->state, bytes, err) : BM_OK;
}

bm_status bm_kept_writer_reserve(bm_kept_writer *writer, uint64_t len, bm_kept_place *out,
                                 bm_error *err)
{
    *out = (bm_kept_place){0};
    return writer->ops->reserve != NULL ? writer->ops->reserve(writer->state, len, out, err)
                                        : BM_OK;
}

bm_status bm_kept_writer_end_file(bm_kept_writer *writer, bm_error *err)
{
    return writer->ops->end_file != NULL ? writer->ops->end_file(writer->state, err) : BM_OK;
}

bm_status bm_kept_writer_id(bm_kept_writer *writer, bm_str id, bm_error *err)
{
    return writer->ops->id != NULL ? writer->ops->id(writer->state, id, err) : BM_OK;
}

bm_status bm_kept_writer_finish(bm_kept_writer *writer, bm_error *err)
{
    return writer->ops->finish != NULL ? writer->ops->finish(writer->state, err) : BM_OK;
}

void bm_kept_writer_close(bm_kept_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->ops->close != NULL)
        writer->ops->close(writer->state);
    bm_free(writer);
}
