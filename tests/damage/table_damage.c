/* SPDX-License-Identifier: Apache-2.0 */
/* table_damage.c -- changes files of tables byte by byte; for each change, the module in this
 * process reads the table and writes the rows to keep.
 *
 * table_damage STEP FILE... -- changes each STEP-th byte of each FILE in four ways (in a .parquet
 * file, bytes of the pages and the footer; in any other file, which is Arrow IPC, any byte), and
 * truncates the file before each STEP-th byte (of the footer, or of all). For any damage, the
 * module must return; if it refuses the file, it must say why; all texts and ids that it gives must
 * be readable to their last byte. Our own code reads them. Prints a line per file: how many
 * variants were read, how many were refused, and how many ranges were read. If the process dies,
 * the last change is printed.
 *
 * A checking allocator (AddressSanitizer, with ARROW_DEFAULT_MEMORY_POOL=system) finds bad
 * accesses. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "sources/table_stream.h"
#include "input/table_module.h"
#include "tests/world/world_folder.h"

#define ROWS_MOST ((size_t)1 << 16)
#define MAGIC     ((size_t)4) /* bytes before the first page */

static struct {
    const bm_table_module *module;
    char folder[100], path[128]; /* of the changed file */
    bool parquet;
    long n_read, n_refused, n_ranges;
    char place[200]; /* what was changed */
    size_t touched;  /* so that the compiler does not drop the reads */
} here;

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "%s: %s\n", here.place, what);
    world_folder_remove(here.folder);
    exit(1);
}

static void dies(int sig)
{
    (void)!write(STDERR_FILENO, here.place, strlen(here.place));
    (void)!write(STDERR_FILENO, ": died\n", 7);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void check(bool holds, const char *claim)
{
    if (!holds)
        give_up(claim);
}

/* --- what is done with a changed file --- */

static void touch(bm_str text)
{
    for (size_t i = 0; i < text.len; i++)
        here.touched += (unsigned char)text.data[i];
}

static void touch_rows(const bm_table_chunk *chunk, size_t n_text)
{
    char digits[BM_ARROW_COLUMN_DIGITS];
    bm_buf joined = {0};
    for (size_t row = 0; row < chunk->n_rows; row++) {
        bm_str text;
        const bm_text_request wish = {.n = n_text, .row = row, .joined = &joined};
        here.touched += bm_chunk_text_bytes(chunk, n_text, row);
        check(bm_chunk_text(chunk, &wish, &text, NULL) == BM_OK, "no memory for a text");
        touch(text);
        if (!chunk->has_id || bm_arrow_column_is_null(&chunk->columns[0], row))
            continue;
        touch(bm_arrow_column_is_text(chunk->columns[0].type)
                  ? bm_arrow_column_bytes(&chunk->columns[0], row)
                  : bm_arrow_column_decimal(&chunk->columns[0], row, digits));
    }
    bm_buf_reset(&joined);
}

/* Reads each range of the table; none if the table cannot be cut. */
static void read_ranges(const bm_table_stream *stream, bm_table_cut *cut)
{
    for (uint64_t row = 0; cut->own != NULL;) {
        struct ArrowArray array = {0};
        bm_table_chunk *chunk = NULL;
        bm_table_range range = cut->next(cut->own, row);
        if (range.n_rows == 0)
            break;
        row += range.n_rows;
        if (range.own == NULL)
            continue;
        if (cut->read(cut->own, &range, &array) == BM_OK &&
            bm_table_stream_chunk(stream, &array, &chunk, NULL) == BM_OK) {
            check(chunk->n_rows == range.n_rows, "a range of other rows than it says");
            touch_rows(chunk, stream->rules->n_text);
            bm_table_chunk_release(chunk);
            here.n_ranges++;
        }
        cut->drop(&range);
    }
    if (cut->own != NULL)
        cut->release(cut->own);
}

/* True: everything could be read. `rules` NULL: only rows are read. */
static bool read_all(const bm_record_rules *rules)
{
    bm_table_cut cut = {0};
    const char *names[] = {"text", "id"};
    const bm_table_wish wish = {.path = here.path,
                                .parquet = here.parquet,
                                .columns = names,
                                .n_columns = rules != NULL ? 2 : 0,
                                .n_needed = rules != NULL ? 1 : 0,
                                .threads = 1,
                                .batch_bytes = (size_t)1 << 20,
                                .memory = (uint64_t)256 << 20,
                                .range_bytes = (size_t)1 << 20,
                                .cut = &cut};
    bm_table_words words = {.text = ""};
    bm_table_stream stream = {.rules = rules, .name = "changed"};
    bm_error err = {0};
    if (here.module->open(&wish, &stream.stream, &words) != BM_OK) {
        check(words.text[0] != '\0', "refused without a word");
        check(cut.own == NULL, "refused, and cut");
        return false;
    }
    bm_table_chunk *chunk = NULL;
    bm_status status = bm_table_stream_begin(&stream, &err);
    if (status == BM_OK)
        read_ranges(&stream, &cut);
    else if (cut.own != NULL)
        cut.release(cut.own);
    do {
        chunk = NULL;
        if (status == BM_OK)
            status = bm_table_stream_next(&stream, &chunk, &err);
        if (status == BM_OK && chunk != NULL && rules != NULL)
            touch_rows(chunk, rules->n_text);
        bm_table_chunk_release(chunk);
    } while (status == BM_OK && chunk != NULL);
    check(status == BM_OK || err.message[0] != '\0', "a stream that broke without a word");
    bm_table_stream_close(&stream);
    return status == BM_OK;
}

static int eat(void *ctx, const char *data, size_t len)
{
    *(size_t *)ctx += len;
    touch((bm_str){data, len});
    return 0;
}

static bool keep(bool labelled)
{
    static uint8_t rows[ROWS_MOST / 8];
    static bm_table_label labels[ROWS_MOST];
    size_t written = 0;
    bm_table_words words = {.text = ""};
    memset(rows, 0xA7, sizeof rows);
    const bm_table_kept kept = {.path = here.path,
                                .parquet = here.parquet,
                                .rows = rows,
                                .n_rows = ROWS_MOST,
                                .labels = labelled ? labels : NULL,
                                .n_labels = ROWS_MOST,
                                .threads = 1,
                                .memory = (uint64_t)256 << 20,
                                .write = eat,
                                .write_ctx = &written};
    const bm_status status = here.module->keep(&kept, &words);
    check(status == BM_OK || words.text[0] != '\0', "not kept, without a word");
    return status == BM_OK;
}

static void try_file(const char *data, size_t len)
{
    static const char *text[] = {"text"};
    const bm_record_rules rules = {.text = text, .n_text = 1, .id = "id"};
    const int fd = open(here.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    check(fd >= 0 && write(fd, data, len) == (ssize_t)len && close(fd) == 0, "cannot write it");
    const bool was_read = read_all(&rules);
    (void)read_all(NULL);
    (void)keep(false);
    (void)keep(true);
    *(was_read ? &here.n_read : &here.n_refused) += 1;
}

/* --- the changes --- */

/* Where the footer of a Parquet file begins; 0 for any other file. */
static size_t first_of(const char *data, size_t len)
{
    size_t footer = 0;
    check(len > 12, "no table");
    if (!here.parquet)
        return 0;
    for (size_t i = 0; i < 4; i++)
        footer |= (size_t)(unsigned char)data[len - 8 + i] << (8 * i);
    check(footer < len - 8, "no footer");
    return len - 8 - footer;
}

static void change_each(const char *file, char *data, size_t len, size_t step)
{
    static const char masks[] = {0x55, (char)0xFF, 0x01, (char)0x80};
    here.n_read = here.n_refused = here.n_ranges = 0;
    snprintf(here.place, sizeof here.place, "%s as it is", file);
    try_file(data, len);
    check(here.n_read == 1 || strstr(file, "secret") != NULL, "is not read as it is");
    const size_t footer = first_of(data, len);
    for (size_t i = here.parquet ? MAGIC : 0; i < len; i += step) {
        for (size_t m = 0; m < sizeof masks; m++) {
            snprintf(here.place, sizeof here.place, "%s: byte %zu ^ %02X", file, i,
                     (unsigned)(unsigned char)masks[m]);
            data[i] = (char)(data[i] ^ masks[m]);
            try_file(data, len);
            data[i] = (char)(data[i] ^ masks[m]);
        }
        if (i < footer)
            continue; /* a truncated file without any part of the footer can only be refused */
        snprintf(here.place, sizeof here.place, "%s: cut behind %zu bytes", file, i);
        try_file(data, i);
    }
    printf("%s: %ld read, %ld refused, %ld ranges\n", file, here.n_read, here.n_refused,
           here.n_ranges);
    fflush(stdout);
}

static char *load(const char *path, size_t *len)
{
    char *data = malloc((size_t)1 << 20);
    FILE *file = fopen(path, "rb");
    if (data == NULL || file == NULL) {
        perror(path);
        exit(1);
    }
    *len = fread(data, 1, (size_t)1 << 20, file);
    fclose(file);
    return data;
}

int main(int argc, char **argv)
{
    const size_t step = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (step == 0) {
        fprintf(stderr, "usage: table_damage STEP FILE...\n");
        return 2;
    }
#if !defined(BM_SANITIZED) /* sanitizers have handlers of their own */
    signal(SIGSEGV, dies);
    signal(SIGBUS, dies);
    signal(SIGFPE, dies);
    signal(SIGABRT, dies);
#else
    (void)dies;
#endif
    here.module = bm_table_module_get();
    const char *root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL;
    check(world_folder_make(root, here.folder, sizeof here.folder), "no place for a file");
    snprintf(here.path, sizeof here.path, "%s/file", here.folder);
    for (int i = 2; i < argc; i++) {
        size_t len;
        const char *ending = strrchr(argv[i], '.');
        char *data = load(argv[i], &len);
        here.parquet = ending != NULL && strcmp(ending, ".parquet") == 0;
        change_each(argv[i], data, len, step);
        free(data);
    }
    world_folder_remove(here.folder);
    return here.touched == 1 ? 3 : 0;
}
