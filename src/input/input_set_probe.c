/* input_set_probe.c -- see the header.
 *
 * Regular files are opened, looked at and closed again: ten thousand inputs need no ten thousand
 * descriptors. Standard input and pipes are held, with the bytes that were looked at.
 *
 * Tests: tests/unit/input/test_input_set.c */
#include "input/input_set_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/wait_readable.h"
#include "base/memory.h"
#include "base/open_file.h"
#include "input/refused_formats.h"
#include "input/window_of.h"
#include "input/input_beginning.h"
#include "input/input_set.h"
#include "input/input_set_state.h"
#include "input/record_formats.h"
#include "input/tables.h"

#define PIPE_BYTES (1 << 20)

bm_status bm_probe_refused(const char *name, const char *head, size_t len, bm_error *err)
{
    const bm_refused_format format = bm_refused_format_of(head, len);
    return format.what == NULL
               ? BM_OK
               : bm_fail_at(err, BM_ERR_INPUT, name, 0, "this is %s, which is not read (%s)",
                            format.what, format.hint);
}

static bm_compression promised_by(const bm_source *source)
{
    size_t name_len = strlen(source->name);
    return bm_compression_of_name(source->name, &name_len);
}

/* Does the name promise a compression that the first bytes do not have? */
static bool breaks_promise(const bm_source *source)
{
    bm_compression promised = promised_by(source);
    return promised != BM_COMPRESSION_NONE && source->compression != promised;
}

/* Does its name leave open what it is? */
static bool is_open(const struct bm_input_set *set, const bm_source *source)
{
    size_t len = strlen(source->name);
    (void)bm_compression_of_name(source->name, &len);
    const bm_format format = bm_format_of_name(source->name, len);
    return set->options.format == BM_FORMAT_AUTO && strcmp(source->path, "-") != 0 &&
           (format == BM_FORMAT_FILES || format == BM_FORMAT_JSON);
}

/* A file of tables, where one is wanted; and what is called like one is one. */
static bm_status judge_table(const struct bm_input_set *set, bm_source *source, const bm_head *head,
                             bm_error *err)
{
    size_t len = strlen(source->name);
    const bm_compression promised = bm_compression_of_name(source->name, &len);
    const bm_format asked = set->options.format,
                    found = bm_table_format_of_bytes(head->bytes, head->len);
    const bm_format named =
        asked == BM_FORMAT_AUTO ? bm_table_format_of_name(source->name, len) : asked;
    if (found != BM_FORMAT_AUTO && asked != BM_FORMAT_AUTO && asked != found)
        return bm_fail_at(err, BM_ERR_INPUT, source->name, 0,
                          "this is a file of the format %s (`format` is %s)", bm_format_name(found),
                          bm_format_name(asked));
    if (bm_format_is_table(named) && promised != BM_COMPRESSION_NONE)
        return bm_fail_at(err, BM_ERR_INPUT, source->name, 0,
                          "a compressed file of tables is not read (decompress it; "
                          "tables are compressed inside)");
    if (bm_format_is_table(named) && found != named)
        return bm_fail_at(err, BM_ERR_INPUT, source->name, 0,
                          "this is no file of the format %s: its first bytes are something else",
                          bm_format_name(named));
    source->table = found;
    return BM_OK;
}

/* The first bytes of a source are here: what is it? */
static bm_status judge(const struct bm_input_set *set, bm_source *source, const bm_head *head,
                       bm_error *err)
{
    bm_status told = judge_table(set, source, head, err);
    if (told != BM_OK || source->table != BM_FORMAT_AUTO)
        return told;
    source->compression = bm_compression_of_bytes(head->bytes, head->len, promised_by(source));
    source->window = bm_window_of(source->compression, head->bytes, head->len);
    BM_TRY(bm_probe_refused(source->name, head->bytes, head->len, err));
    if (breaks_promise(source))
        return bm_fail_at(err, BM_ERR_INPUT, source->name, 0,
                          "the name promises %s, the first bytes are something else",
                          bm_compression_name(promised_by(source)));
    if (is_open(set, source))
        BM_TRY(bm_input_beginning(source, head, &source->beginning, err));
    return BM_OK;
}

/* As many bytes as there are, up to the size of a head. */
static bm_status read_head(const struct bm_input_set *set, int fd, const char *name, bm_head *head,
                           bm_error *err)
{
    head->len = 0;
    while (head->len < sizeof head->bytes) {
        ssize_t got;
        BM_TRY(bm_read_ready(set->callbacks, fd, head->bytes + head->len,
                             sizeof head->bytes - head->len, &got, err));
        if (got < 0)
            return bm_fail_errno(err, errno, name, "cannot read");
        if (got == 0)
            break;
        head->len += (size_t)got;
    }
    return BM_OK;
}

/* A pipe of 64 KiB stands still whenever either side is busy. Larger ones are a wish: the system
 * may have a limit, and what is no pipe has none. */
static void widen(int fd)
{
#if defined(F_SETPIPE_SZ)
    (void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
#else
    (void)fd;
#endif
}

/* The descriptor is taken, whatever the status. */
static bm_status hold(struct bm_input_set *set, size_t index, int fd, bm_error *err)
{
    bm_status status = bm_grow(&set->held, &set->cap_held, set->n_held + 1, sizeof *set->held, err);
    if (status != BM_OK) {
        if (fd > STDIN_FILENO)
            close(fd);
        return status;
    }
    bm_held *h = &set->held[set->n_held++];
    *h = (bm_held){.source = index, .fd = fd, .spool_fd = -1};
    bm_source *source = &set->sources[index];
    set->unknown_size = true;
    widen(fd);
    status = read_head(set, fd, source->name, &h->head, err);
    return status != BM_OK ? status : judge(set, source, &h->head, err);
}

static bm_status probe_one(struct bm_input_set *set, size_t index, bm_error *err)
{
    bm_source *source = &set->sources[index];
    if (strcmp(source->path, "-") == 0)
        return hold(set, index, STDIN_FILENO, err);
    struct stat st;
    int fd;
    BM_TRY(bm_open_given(source->path, BM_ERR_INPUT, &fd, err));
    bm_status status = BM_OK;
    if (fstat(fd, &st) != 0) {
        status = bm_fail_errno(err, errno, source->name, "cannot look at the file");
        close(fd);
        return status;
    }
    if (!S_ISREG(st.st_mode))
        return hold(set, index, fd, err);
    source->size = (uint64_t)st.st_size;
    set->total_bytes += source->size;
    bm_head head;
    status = read_head(set, fd, source->name, &head, err);
    close(fd);
    return status != BM_OK ? status : judge(set, source, &head, err);
}

/* Where bad records are skipped, a source that cannot be read is one: note why, and go on. */
static bm_status note_unreadable(bm_source *source, bm_status status, const bm_error *why,
                                 bm_error *err)
{
    if (status == BM_OK)
        return BM_OK;
    if (status != BM_ERR_INPUT && (status != BM_ERR_IO || !bm_errno_is_of_file((int)why->code))) {
        if (err != NULL)
            *err = *why;
        return status;
    }
    source->compression = promised_by(source);
    source->unreadable = bm_strdup(why->message);
    return source->unreadable != NULL ? BM_OK : bm_fail_nomem(err, strlen(why->message));
}

/* That no source at all can be read is no matter of records: a name is misspelt, a format is not read. */
static bm_status probe_skipping(struct bm_input_set *set, bm_error *err)
{
    bm_error first = {0}, why;
    bm_status first_status = BM_OK;
    size_t n_lost = 0;
    for (size_t i = 0; i < set->n_sources; i++) {
        bm_source *source = &set->sources[i];
        why = (bm_error){0};
        bm_status found = probe_one(set, i, &why);
        if (found != BM_OK && !(found == BM_ERR_INPUT && breaks_promise(source)) && n_lost++ == 0) {
            first = why;
            first_status = found;
        }
        BM_TRY(note_unreadable(source, found, &why, err));
    }
    if (n_lost < set->n_sources)
        return BM_OK;
    if (err != NULL)
        *err = first;
    return first_status;
}

bm_status bm_input_set_probe(struct bm_input_set *set, bm_error *err)
{
    if (set->options.on_error == BM_ON_ERROR_SKIP)
        return probe_skipping(set, err);
    for (size_t i = 0; i < set->n_sources; i++)
        BM_TRY(probe_one(set, i, err));
    return BM_OK;
}
