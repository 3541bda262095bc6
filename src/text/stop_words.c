/* SPDX-License-Identifier: Apache-2.0 */
/* stop_words.c -- reads lists of stop words: the shingler normalises and cuts each line of a file,
 * and the words are sorted.
 *
 * Tests: tests/unit/text/test_stop_words.c */
#include "text/stop_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/files.h"
#include "base/orders.h"
#include "base/utf8.h"
#include "text/shingle_ops.h"
#include "text/shingler.h"
#include "text/stop_words_en.h"
#include "text/unicode_tables.h"
#include "text/xxh3_inline.h"

typedef struct reading {
    bm_shingler *shingler;
    const char *name;
    uint64_t line;
    bm_buf text;   /* the words so far, each NUL-terminated */
    size_t *words; /* offset of each word in `text` */
    size_t n, cap;
} reading;

static bm_status wrong(const reading *r, const char *what, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, r->name, r->line,
                      "%s (a stop word a line, normalised and cut as the texts are)", what);
}

static bool is_blank(bm_str line)
{
    const char *at = line.data, *end = line.data + line.len;
    while (at < end)
        if (bm_char_class_of(bm_utf8_next(&at, end)) != BM_CLASS_SPACE)
            return false;
    return true;
}

static bm_status add_line(reading *r, bm_str line, bm_error *err)
{
    const bm_joined *joined;
    if (bm_utf8_valid_prefix(line.data, line.len) != line.len)
        return wrong(r, "no UTF-8", err);
    if (is_blank(line))
        return BM_OK;
    BM_TRY(bm_shingler_join(r->shingler, line, &joined, err));
    if (joined->len == 0)
        return wrong(r, "no word", err);
    if (memchr(joined->data, ' ', joined->len) != NULL)
        return wrong(r, "more than one word", err);
    if (memchr(joined->data, '\0', joined->len) != NULL)
        return wrong(r, "a word with a NUL", err);
    BM_TRY(bm_grow_array(&r->words, &r->cap, r->n + 1, err));
    const size_t at = r->text.len;
    BM_TRY(bm_buf_add(&r->text, joined->data, joined->len, err));
    BM_TRY(bm_buf_add(&r->text, "", 1, err));
    r->words[r->n++] = at;
    return r->text.len <= BM_STOP_WORDS_MAX ? BM_OK : wrong(r, "more than 1 MiB of words", err);
}

static bm_status add_lines(reading *r, bm_str file, bm_error *err)
{
    if (file.len >= 3 && memcmp(file.data, "\xEF\xBB\xBF", 3) == 0) {
        file.data += 3;
        file.len -= 3;
    }
    while (file.len > 0) {
        const char *newline = memchr(file.data, '\n', file.len);
        bm_str line = {file.data, newline != NULL ? (size_t)(newline - file.data) : file.len};
        const size_t taken = line.len + (newline != NULL);
        if (line.len > 0 && line.data[line.len - 1] == '\r')
            line.len--;
        r->line++;
        BM_TRY(add_line(r, line, err));
        file.data += taken;
        file.len -= taken;
    }
    return BM_OK;
}

/* Set *out to the words in byte order, without duplicates, separated by blanks. The caller frees
 * *out. */
static bm_status join_words(const reading *r, char **out, bm_error *err)
{
    bm_buf list = {0};
    const char **sorted = bm_alloc(r->n, sizeof *sorted);
    bm_status status = BM_OK;
    if (sorted == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, r->n * sizeof *sorted));
    for (size_t i = 0; i < r->n; i++)
        sorted[i] = r->text.data + r->words[i];
    qsort(sorted, r->n, sizeof *sorted, bm_order_text);
    for (size_t i = 0; i < r->n; i++) {
        if (i > 0 && strcmp(sorted[i], sorted[i - 1]) == 0)
            continue;
        if (i > 0)
            BM_TRY_OUT(bm_buf_add(&list, " ", 1, err));
        BM_TRY_OUT(bm_buf_add_text(&list, sorted[i], err));
    }
    status = bm_buf_end(&list, err);
out:
    bm_free(sorted);
    if (status == BM_OK)
        *out = list.data;
    else
        bm_buf_reset(&list);
    return status;
}

/* Make the canonical list from the contents of a file. The caller frees *out. `name` is for
 * messages. */
static bm_status parse_list(bm_str file, const bm_text_options *options, const char *name,
                            char **out, bm_error *err)
{
    reading r = {.name = name};
    bm_text_options words = *options;
    words.stopwords = NULL; /* not needed, because lines are only joined here */
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_shingler_open(&words, NULL, &r.shingler, err));
    BM_TRY_OUT(add_lines(&r, file, err));
    r.line = 0;
    if (r.n == 0)
        BM_TRY_OUT(wrong(&r, "no stop words", err));
    status = join_words(&r, out, err);
out:
    bm_shingler_close(r.shingler);
    bm_buf_reset(&r.text);
    bm_free(r.words);
    return status;
}

bm_status bm_stop_words_load(bm_text_options *options, char **owned, bm_error *err)
{
    const char *path = bm_stop_words_path(options);
    bm_buf file = {0};
    *owned = NULL;
    options->stopwords = NULL;
    if (options->shingle != BM_SHINGLE_STOPWORD)
        return BM_OK;
    options->stopwords = bm_stop_words_en;
    if (path == NULL)
        return BM_OK;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_read_file(path, BM_STOP_WORDS_MAX, &file, err));
    BM_TRY_OUT(parse_list((bm_str){file.data, file.len}, options, path, owned, err));
    if (strcmp(*owned, bm_stop_words_en) == 0) {
        bm_free(*owned);
        *owned = NULL;
    } else {
        options->stopwords = *owned;
    }
out:
    bm_buf_reset(&file);
    return status;
}

const char *bm_stop_words_path(const bm_text_options *options)
{
    const char *path = options->stopwords;
    return path != NULL && strcmp(path, BM_STOP_WORDS_EN) != 0 ? path : NULL;
}

bm_status bm_stop_words_keep(bm_text_options *loaded, char **owned, bm_error *err)
{
    const char *words = loaded->stopwords;
    if (words == NULL || words == *owned || words == bm_stop_words_en)
        return BM_OK;
    char *copy;
    BM_TRY(bm_copy_text(words, &copy, err));
    bm_free(*owned);
    loaded->stopwords = *owned = copy;
    return BM_OK;
}

/* Does the string have the form of a canonical list? */
static bool is_list(const char *words)
{
    const char *before = NULL;
    size_t n_before = 0;
    if (strlen(words) > BM_STOP_WORDS_MAX)
        return false;
    for (;;) {
        const size_t n = strcspn(words, " ");
        const size_t common = n < n_before ? n : n_before;
        const int order = before != NULL ? memcmp(before, words, common) : -1;
        if (n == 0 || order > 0 || (order == 0 && n_before >= n))
            return false;
        if (words[n] == '\0')
            return true;
        before = words;
        n_before = n;
        words += n + 1;
    }
}

bool bm_stop_words_recorded(const char *words, bm_text_options *out)
{
    const bool wanted = out->shingle == BM_SHINGLE_STOPWORD;
    out->stopwords = words;
    if (!wanted || words == NULL)
        return !wanted && words == NULL;
    if (strcmp(words, bm_stop_words_en) == 0)
        out->stopwords = bm_stop_words_en;
    return is_list(words);
}

bm_text_options bm_stop_words_shown(const bm_text_options *loaded)
{
    bm_text_options text = *loaded;
    if (text.stopwords == bm_stop_words_en)
        text.stopwords = BM_STOP_WORDS_EN;
    return text;
}

void bm_stop_words_digest(const char *words, char out[BM_STOP_WORDS_NAME])
{
    snprintf(out, BM_STOP_WORDS_NAME, "%016" PRIx64, bm_xxh3_any(words, strlen(words)));
}

void bm_stop_words_name(const char *words, char out[BM_STOP_WORDS_NAME])
{
    if (strcmp(words, bm_stop_words_en) == 0)
        snprintf(out, BM_STOP_WORDS_NAME, BM_STOP_WORDS_EN);
    else
        bm_stop_words_digest(words, out);
}
