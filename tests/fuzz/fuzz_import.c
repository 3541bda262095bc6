/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_import.c -- signatures of other programs, imported as a directory of ours.
 *
 * The first byte of an input chooses the form (npy, leanminhash, tables in two ways), whether words
 * have 8 bytes, whether there is a list of ids, and whether a second file follows. Then come the
 * file, `---`, the list of ids (for tables: the provenance in their metadata), `---`, and the
 * second file. A stand-in for the reader of tables makes them from the bytes (fuzz_arrow.h).
 *
 * The import must end with a documented status, with a message and without an output; or with a
 * directory that has as many ids as rows, and whose words, for an array, are those of the file byte
 * for byte. */
#include <bandmill/exchange.h>

#include "fuzz_arrow.h"
#include "fuzz_tree.h"
#include "input/table_module.h"
#include "input/table_library.h"

enum { NPY, LEAN, TABLE, NEMO };

typedef struct given {
    const uint8_t *file, *list, *second;
    size_t n_file, n_list, n_second;
} given;

static struct {
    char first[FUZZ_PATH], second[FUZZ_PATH], list[FUZZ_PATH];
    given now;
} here;

/* --- the stand-in for the reader of tables --- */

static bm_status open_table(const bm_table_wish *wish, struct ArrowArrayStream *out,
                            bm_table_words *words)
{
    (void)words;
    const given *g = &here.now;
    const bool second = strcmp(wish->path, here.second) == 0;
    const fuzz_span table = {second ? g->second : g->file, second ? g->n_second : g->n_file};
    const fuzz_span value = {g->n_list > 0 ? g->list : NULL, g->n_list};
    fuzz_open_table(table, BM_TABLE_PROVENANCE, value, out);
    return BM_OK;
}

const bm_table_module *__wrap_bm_table_module_find(const char **why);
const bm_table_module *__wrap_bm_table_module_find(const char **why)
{
    static const bm_table_module module = {BM_TABLE_MODULE_ABI, "of the bytes", open_table, NULL,
                                           NULL};
    (void)why;
    return &module;
}

/* --- the job --- */

static given part(const uint8_t *data, size_t size)
{
    const fuzz_parts outer = fuzz_split(data, size);
    const fuzz_parts inner = fuzz_split(outer.second, outer.n_second);
    return (given){.file = outer.first,
                   .n_file = outer.n_first,
                   .list = inner.first,
                   .n_list = inner.n_first,
                   .second = inner.second,
                   .n_second = inner.n_second};
}

static bm_status import(uint8_t how, const char *target, bm_error *err)
{
    static const bm_exchange forms[] = {BM_EXCHANGE_NPY, BM_EXCHANGE_LEANMINHASH, BM_EXCHANGE_ARROW,
                                        BM_EXCHANGE_NEMO};
    const char *paths[] = {here.first, here.second};
    bm_import_options o;
    bm_summary *summary = NULL;
    bm_import_options_init(&o);
    o.paths = paths;
    o.n_paths = (how & 16) != 0 ? 2 : 1;
    o.from = forms[how % 4];
    o.ids = (how & 8) != 0 && how % 4 < TABLE ? here.list : NULL;
    o.signature_field = how % 4 == NEMO ? "signature" : NULL;
    o.id_field = how % 4 == NEMO ? "id" : NULL;
    o.duplicate_ids = (how & 32) != 0 ? BM_DUPLICATE_IDS_NUMBER : BM_DUPLICATE_IDS_ERROR;
    o.sketch.scheme = (how & 4) != 0 ? BM_SCHEME_AFFINE64 : BM_SCHEME_AFFINE32;
    o.set_fields = BM_FIELD_HASH;
    if (how % 4 != LEAN) /* leanminhash records state both */
        o.set_fields |= BM_FIELD_SCHEME | BM_FIELD_SEED;
    o.resources = (bm_resource_options){.threads = 1, .memory = 512 << 20};
    o.output.path = target;
    const bm_status status = bm_job_import(&o, &summary, err);
    CHECK((summary != NULL) == (status == BM_OK));
    bm_summary_free(summary);
    return status;
}

/* --- the result --- */

static const bm_buf *find(const folder *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->files[i].name, name) == 0)
            return &f->files[i].bytes;
    CHECK(false);
    return NULL;
}

static size_t lines_of(const bm_buf *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->len; i++)
        n += text->data[i] == '\n';
    return n;
}

/* Reads the numbers of the shape; returns the bytes after the header. */
static size_t data_of(const bm_buf *npy, unsigned long shape[2])
{
    const size_t head = 10 + (uint8_t)npy->data[8] + ((size_t)(uint8_t)npy->data[9] << 8);
    CHECK(npy->len >= head && memcmp(npy->data, "\x93NUMPY", 6) == 0);
    const char *at = memmem(npy->data, head, "'shape': (", 10);
    CHECK(at != NULL);
    char *end;
    shape[0] = strtoul(at + 10, &end, 10);
    shape[1] = *end == ',' ? strtoul(end + 1, NULL, 10) : 1;
    return npy->len - head;
}

static void check_made(uint8_t how, const folder *f)
{
    unsigned long words[2], sizes[2];
    const bm_buf *signatures = find(f, "signatures.npy"), *shingles = find(f, "n_shingles.npy");
    const size_t bytes = data_of(signatures, words), n_sizes = data_of(shingles, sizes);
    const size_t wide = memmem(signatures->data, 64, "<u8", 3) != NULL ? 8 : 4;
    CHECK(bytes == (size_t)words[0] * words[1] * wide);
    CHECK(sizes[0] == words[0] && n_sizes == 4 * (size_t)sizes[0]);
    CHECK(lines_of(find(f, "ids.txt")) == words[0]);
    if (how % 4 == NPY && (how & 16) == 0)
        CHECK(bytes <= here.now.n_file &&
              fuzz_same(signatures->data + signatures->len - bytes, bytes,
                        here.now.file + here.now.n_file - bytes, bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static folder out;
    bm_error err = {0};
    if (size == 0)
        return 0;
    fuzz_path("first", here.first);
    fuzz_path("second", here.second);
    fuzz_path("list", here.list);
    fuzz_path("out", out.path);
    here.now = part(data + 1, size - 1);
    fuzz_write(here.first, here.now.file, here.now.n_file);
    fuzz_write(here.list, here.now.list, here.now.n_list);
    fuzz_write(here.second, here.now.second, here.now.n_second);
    const bm_status status = import(data[0], out.path, &err);
    read_folder(&out);
    if (status == BM_OK)
        check_made(data[0], &out);
    else
        CHECK(out.n == 0 && err.message[0] != '\0' && status != BM_ERR_INTERNAL);
    world_folder_remove(out.path);
    reset_folder(&out);
    return 0;
}
