/* bench_text.c -- texts from files through the job's own readers, or from a generator.
 *
 * The generator draws word ranks with a probability about 1/rank (Zipf), so that frequent words are
 * short and shingles repeat about as they do in prose; a document has 40 to 240 words. */
#include "bench/bench_text.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "model/option_defaults.h"
#include "base/random.h"
#include "results/sign_dir.h"
#include "sources/batch_sources.h"
#include "input/input_set_open.h"

enum {
    VOCABULARY = 20000,
    COMMON = 64,    /* words, which make up two fifths of a text */
    WORD_MAX = 14,  /* letters */
    LETTER_MAX = 3, /* bytes */
    MADE_BYTES = 32000000,
    FOREIGN_BYTES = 16000000,
    READ_BYTES = 8 << 20
};

static bm_status end_document(bm_bench_text *text, bm_error *err)
{
    BM_TRY(bm_grow_array(&text->begin, &text->cap, text->n + 2, err));
    if (text->n == 0)
        text->begin[0] = 0;
    text->begin[++text->n] = text->bytes.len;
    return BM_OK;
}

/* --- from files --- */

typedef struct reading {
    bm_batch_source *source;
    bm_bench_text *text;
} reading;

static bm_status take_record(void *ctx, const bm_record *record, bm_error *err)
{
    const reading *r = ctx;
    bm_bench_text *text = r->text;
    if (record->bad)
        return bm_fail_at(err, BM_ERR_INPUT, bm_batch_source_file(r->source, record->file),
                          record->line, "%s", record->reason);
    if (text->bytes.len >= BM_BENCH_TEXT_MAX)
        return BM_OK;
    BM_TRY(bm_buf_add(&text->bytes, record->text.data, record->text.len, err));
    return end_document(text, err);
}

static bm_status read_all(reading *r, bm_error *err)
{
    const bm_batch_limits limits = {.bytes = READ_BYTES};
    bm_batch_parser *parser = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_batch_source_begin(r->source, &limits, 0, err));
    BM_TRY_OUT(bm_batch_parser_open(r->source, &parser, err));
    while (status == BM_OK && r->text->bytes.len < BM_BENCH_TEXT_MAX) {
        bm_batch_next next;
        BM_TRY_OUT(bm_batch_source_next(r->source, &next, err));
        if (next.got == BM_BATCH_END)
            break;
        status = bm_batch_parser_run(parser, next.batch, take_record, r, err);
        bm_batch_source_free_batch(r->source, next.batch);
    }
out:
    bm_batch_parser_close(parser);
    return status;
}

static bm_status from_files(const char *const *paths, size_t n_paths, const bm_callbacks *callbacks,
                            bm_bench_text *text, bm_error *err)
{
    bm_input_options input = BM_INPUT_DEFAULTS;
    input.paths = paths;
    input.n_paths = n_paths;
    bm_input_set *set = NULL;
    reading r = {.text = text};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_sign_dir_refuse(paths, n_paths, 0, err));
    BM_TRY_OUT(bm_input_set_open_watched(&input, NULL, callbacks, &set, err));
    if (!bm_format_has_text(bm_input_set_format(set)))
        BM_TRY_OUT(bm_fail(err, BM_ERR_USAGE, "bench takes documents with text, not hashes"));
    BM_TRY_OUT(bm_batch_source_open(set, &r.source, err));
    BM_TRY_OUT(read_all(&r, err));
    if (text->bytes.len == 0)
        BM_TRY_OUT(bm_fail(err, BM_ERR_INPUT, "there is no text in the documents given"));
out:
    bm_batch_source_close(r.source);
    bm_input_set_close(set);
    return status;
}

/* --- made --- */

typedef struct word {
    uint8_t len;                           /* bytes */
    char bytes[WORD_MAX * LETTER_MAX + 1]; /* with the space behind it */
} word;

/* Letters in the order of how often they come; each of them a string. */
typedef struct script {
    const char *const *letters;
    uint32_t n_letters;
    bool spaced; /* words are parted by a space */
} script;

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))

static const char *const english[] = {"e", "t", "a", "o", "i", "n", "s", "h", "r", "d",
                                      "l", "u", "c", "m", "f", "w", "y", "p", "v", "b",
                                      "g", "k", "q", "j", "x", "z", "e", "e", "e", "t",
                                      "t", "a", "a", "o", "o", "n", "n", "i", "i"};
/* One letter in seven has an accent, as in French or Vietnamese; Czech has more. */
static const char *const accented[] = {"e", "a", "i", "s", "n", "r", "t", "o", "l", "u", "d",
                                       "é", "c", "m", "p", "è", "v", "à", "q", "ç", "b", "ě",
                                       "h", "ň", "g", "e", "a", "i", "s", "n", "r", "t"};
static const char *const greek[] = {"α", "ο", "ι", "ε", "τ", "σ", "ν", "η", "υ", "ρ", "π", "κ",
                                    "μ", "λ", "ς", "ά", "ό", "έ", "ί", "ή", "ω", "δ", "γ", "χ",
                                    "θ", "φ", "ύ", "ώ", "β", "Α", "Ε", "Τ", "ξ", "ζ", "ψ"};
static const char *const chinese[] = {"人", "有", "权", "的", "和", "一", "在", "由", "不", "任",
                                      "何", "利", "国", "家", "自", "受", "为", "其", "等", "平",
                                      "社", "会", "教", "育", "法", "律", "保", "护", "，", "。",
                                      "所", "以", "本", "宣", "言", "应", "或", "者", "同", "时"};

static int compare_words(const word *a, const word *b)
{
    const int order = memcmp(a->bytes, b->bytes, a->len < b->len ? a->len : b->len);
    return order != 0 ? order : (int)a->len - (int)b->len;
}

static void make_vocabulary(bm_random *random, const script *of, word *words)
{
    for (uint32_t rank = 0; rank < VOCABULARY; rank++) {
        /* from 1 to 3 letters for the first words to about 9 for the rare ones */
        uint64_t longest = 3 + (uint64_t)log2(rank + 1.0);
        uint64_t n =
            bm_random_range(random, 1 + longest / 3, longest < WORD_MAX ? longest : WORD_MAX);
        word *w = &words[rank];
        w->len = 0;
        for (uint64_t i = 0; i < n; i++) {
            const char *letter = of->letters[bm_random_range(random, 0, of->n_letters)];
            size_t len = strlen(letter);
            memcpy(w->bytes + w->len, letter, len);
            w->len = (uint8_t)(w->len + len);
        }
        w->bytes[w->len] = ' ';
    }
}

/* The words that come most often, as a list of stop words (text/stop_words.h): the least word that is greater
 * than the one before, again and again. */
static bm_status list_common(const word *words, bm_buf *out, bm_error *err)
{
    const word *before = NULL, *least;
    do {
        least = NULL;
        for (const word *w = words; w < words + COMMON; w++)
            if ((before == NULL || compare_words(w, before) > 0) &&
                (least == NULL || compare_words(w, least) < 0))
                least = w;
        if (least != NULL && before != NULL)
            BM_TRY(bm_buf_add(out, " ", 1, err));
        if (least != NULL)
            BM_TRY(bm_buf_add(out, least->bytes, least->len, err));
        before = least;
    } while (least != NULL);
    return bm_buf_end(out, err);
}

static bm_status make_document(bm_random *random, const word *words, bool spaced,
                               bm_bench_text *text, bm_error *err)
{
    uint64_t n = bm_random_range(random, 40, 241);
    BM_TRY(bm_buf_reserve(&text->bytes, (size_t)n * sizeof words[0].bytes, err));
    for (uint64_t i = 0; i < n; i++) {
        double u = bm_random_u32(random) * 0x1p-32; /* exp of a uniform: density 1/rank */
        const word *w = &words[(uint32_t)(exp(u * log(VOCABULARY + 1.0)) - 1)];
        size_t len = (size_t)w->len + (spaced && i + 1 < n); /* no space after the last */
        memcpy(text->bytes.data + text->bytes.len, w->bytes, len);
        text->bytes.len += len;
    }
    return end_document(text, err);
}

/* Documents in one script until there are `bytes` in all. */
static bm_status make(const script *of, size_t bytes, bm_bench_text *text, bm_error *err)
{
    word *words = NULL;
    BM_TRY(bm_new(&words, VOCABULARY, err));
    bm_random random;
    bm_random_init(&random, 1);
    make_vocabulary(&random, of, words);
    bm_status status = BM_OK;
    if (text->common.len == 0)
        BM_TRY_OUT(list_common(words, &text->common, err));
    while (text->bytes.len < bytes)
        BM_TRY_OUT(make_document(&random, words, of->spaced, text, err));
out:
    bm_free(words);
    text->made = true;
    return status;
}

bm_status bm_bench_text_foreign(bm_bench_text *out, bm_error *err)
{
    static const script scripts[] = {{accented, COUNT(accented), true},
                                     {greek, COUNT(greek), true},
                                     {chinese, COUNT(chinese), false}};
    memset(out, 0, sizeof *out);
    bm_status status = BM_OK;
    for (size_t i = 0; i < COUNT(scripts); i++)
        BM_TRY_OUT(make(&scripts[i], FOREIGN_BYTES * (i + 1) / COUNT(scripts), out, err));
out:
    if (status != BM_OK)
        bm_bench_text_reset(out);
    return status;
}

bm_status bm_bench_text_open(const char *const *paths, size_t n_paths,
                             const bm_callbacks *callbacks, bm_bench_text *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    const script plain = {english, COUNT(english), true};
    bm_status status = n_paths == 0 ? make(&plain, MADE_BYTES, out, err)
                                    : from_files(paths, n_paths, callbacks, out, err);
    if (status != BM_OK)
        bm_bench_text_reset(out);
    return status;
}

void bm_bench_text_reset(bm_bench_text *text)
{
    bm_buf_reset(&text->bytes);
    bm_buf_reset(&text->common);
    bm_free(text->begin);
    memset(text, 0, sizeof *text);
}
