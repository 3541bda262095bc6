/* input_beginning.c -- see the header.
 *
 * Tests: tests/unit/input/test_input_set.c, tests/cli/cases/told_formats.sh */
#include "input/input_beginning.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/open_file.h"
#include "base/utf8.h"
#include "input/decompress.h"
#include "input/record_format.h"
#include "json/json_exact.h"

#define BLOCK_BYTES ((size_t)64 << 10)

/* Fill `out` from the compressed file, as far as it goes. */
static bm_status unpack(bm_decompress *d, int fd, char *block, bm_head *out)
{
    bm_decompress_step step = {.in = {block, 0}};
    bm_status status = BM_OK;
    while (status == BM_OK && out->len < sizeof out->bytes) {
        step.out = out->bytes + out->len;
        step.out_cap = sizeof out->bytes - out->len;
        status = bm_decompress_run(d, &step, NULL);
        out->len += status == BM_OK ? step.n_out : 0;
        if (status != BM_OK || step.n_out > 0)
            continue;
        ssize_t n = step.end ? 0 : read(fd, block, BLOCK_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || step.end)
            break;
        step.in.len = (size_t)n;
        step.used = 0;
        step.end = n == 0;
    }
    return status == BM_ERR_NOMEM ? status : BM_OK;
}

static bm_status unpack_head(const bm_source *source, bm_head *out, bm_error *err)
{
    bm_decompress *d = NULL;
    char *block = NULL;
    out->len = 0;
    int fd;
    if (bm_open_regular(source->path, BM_ERR_INPUT, &fd, NULL) != BM_OK)
        return BM_OK; /* whoever reads it will say so */
    bm_status status = bm_decompress_open(source->compression, &d, err);
    if (status == BM_OK && (block = bm_alloc(BLOCK_BYTES, 1)) == NULL)
        status = bm_fail_nomem(err, BLOCK_BYTES);
    if (status == BM_OK) {
        bm_decompress_begin(d, source->name);
        status = unpack(d, fd, block, out);
        if (status != BM_OK)
            status = bm_fail_nomem(err, BLOCK_BYTES);
    }
    bm_free(block);
    bm_decompress_close(d);
    close(fd);
    return status;
}

static size_t behind_space(bm_str text, size_t at)
{
    while (at < text.len && memchr(" \t\r\n", text.data[at], 4) != NULL)
        at++;
    return at;
}

/* `{ "key" :`, of a line that is longer than what is here of it. */
static bool begins_object(bm_str line)
{
    size_t at = behind_space(line, 1);
    if (at >= line.len || line.data[at] != '"')
        return false;
    for (at++; at < line.len && line.data[at] != '"'; at++)
        at += line.data[at] == '\\';
    at = behind_space(line, at + 1);
    return at < line.len && line.data[at] == ':';
}

static bm_status is_object(bm_str line, bool *is, bm_error *err)
{
    bm_json_exact *exact = NULL;
    const char *broken = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_exact_open(NULL, 0, &exact, err));
    status = bm_json_exact_run(exact, line, NULL, &broken, err);
out:
    bm_json_exact_close(exact);
    *is = status == BM_OK && broken == NULL;
    return status;
}

static bm_status judge(const bm_head *head, bm_beginning *out, bm_error *err)
{
    const size_t bom = bm_bom_bytes(head->bytes, head->len);
    const bm_str text = {head->bytes + bom, head->len - bom};
    const size_t at = behind_space(text, 0);
    *out = BM_BEGINS_OTHERWISE;
    if (at == text.len)
        *out = BM_BEGINS_NOT;
    else if (text.data[at] == '[')
        *out = BM_BEGINS_ARRAY;
    if (at == text.len || text.data[0] != '{')
        return BM_OK;
    const char *newline = memchr(text.data, '\n', text.len);
    const bool whole = newline != NULL || head->len < sizeof head->bytes;
    const bm_str line = {text.data, newline != NULL ? (size_t)(newline - text.data) : text.len};
    bool is = !whole && begins_object(line);
    bm_status status = whole ? is_object(line, &is, err) : BM_OK;
    if (is)
        *out = BM_BEGINS_OBJECT;
    return status;
}

bm_status bm_input_beginning(const bm_source *source, const bm_head *head, bm_beginning *out,
                             bm_error *err)
{
    bm_head unpacked;
    *out = BM_BEGINS_OTHERWISE;
    if (source->compression == BM_COMPRESSION_NONE)
        return judge(head, out, err);
    if (source->size == 0) /* a pipe: its bytes can be read only once */
        return BM_OK;
    BM_TRY(unpack_head(source, &unpacked, err));
    return judge(&unpacked, out, err);
}
