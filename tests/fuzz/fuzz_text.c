/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_text.c -- arbitrary bytes as the text of a document. The first three choose how it is cut,
 * the fourth how it is signed. Every instruction set of this processor gives the shingles of the
 * slow way (shingle_oracle.h), in one pass and in two, and prepares the same for a device; signing
 * gives the words of the scheme's scalar reference. */
#include "text/stop_words.c"

#include <string.h>

#include "cpu/cpu_backend.h"
#include "base/utf8.h"
#include "fuzz_check.h"
#include "sketch/scheme.h"
#include "tests/unit/text/shingle_oracle.h"
#include "text/shingler.h"
#include "text/stop_table.h"
#include "text/unit_text.h"

static const bm_isa isas[] = {BM_ISA_SCALAR, BM_ISA_AVX2, BM_ISA_AVX512, BM_ISA_NEON};
#define N_ISAS  (sizeof isas / sizeof isas[0])
#define N_BANDS 4u

static bm_text_options text_options(const uint8_t *data)
{
    bm_text_options options = {.normalize = data[0] & 63,
                               .words = data[1] & 1 ? BM_WORDS_SPACE : BM_WORDS_ALNUM,
                               .shingle = (bm_shingle_kind)((data[1] >> 1) % 3),
                               .short_rule = data[1] & 8 ? BM_SHORT_SKIP : BM_SHORT_WHOLE,
                               .shingle_k = 1 + data[2] % 40u};
    if ((data[1] & 48) == 48) /* older inputs do not use this value */
        options.words = BM_WORDS_TEXT_DEDUP;
    if ((data[0] & 128) != 0)
        options.normalize |= BM_NORM_INVISIBLE;
    if (options.normalize & BM_NORM_NFC)
        options.normalize &= ~(uint32_t)BM_NORM_NFKC;
    if (data[2] >= 250)
        options.shingle_k = BM_SHINGLE_K_MAX;
    options.bag = (data[1] & 64) != 0;
    if ((data[1] & 128) != 0) {
        options.shingle = BM_SHINGLE_STOPWORD;
        options.shingle_k = 1 + data[2] % 4u;
        options.stopwords = data[2] & 64 ? "0 a aaaaaaaa aaaaaaaaa e o" : NULL;
    }
    return options;
}

/* Checks that document `doc` of `batch` equals the first of `right`. */
static void check_document(const bm_shingle_batch *batch, size_t doc, const bm_shingle_batch *right)
{
    const uint64_t begin = batch->offsets[doc], n = batch->offsets[doc + 1] - begin;
    CHECK(n == right->offsets[1]);
    CHECK(n == 0 || memcmp(batch->hashes + begin, right->hashes, n * sizeof *batch->hashes) == 0);
    CHECK(n == 0 || !batch->counted ||
          memcmp(batch->counts + begin, right->counts, n * sizeof *batch->counts) == 0);
    CHECK(memcmp(&batch->content[doc], &right->content[0], sizeof right->content[0]) == 0);
}

/* Reads the text as a file of stop words: a list whose words are each a word of the list, or an
 * error that names a line. */
static void check_list(bm_text_options options, bm_str text)
{
    char *words = NULL;
    bm_error err = {0};
    bm_stop_table table;
    options.shingle = BM_SHINGLE_STOPWORD;
    const bm_status status = parse_list(text, &options, "list", &words, &err);
    if (status != BM_OK) {
        CHECK(status == BM_ERR_INPUT && strcmp(err.file, "list") == 0 && words == NULL);
        return;
    }
    CHECK(is_list(words));
    CHECK(bm_stop_table_init(words, &table, NULL) == BM_OK);
    for (const char *at = words; *at != '\0';) {
        const size_t len = strcspn(at, " ");
        char *word = calloc(1, len + 16);
        CHECK(word != NULL);
        memcpy(word + 8, at, len);
        CHECK(bm_stop_table_has(&table, word + 8, len));
        free(word);
        at += len + (at[len] == ' ');
    }
    bm_stop_table_reset(&table);
    bm_free(words);
}

/* Checks the text prepared for a device, when the host cuts it again. */
static void check_unit_text(bm_shingler *shingler, const bm_text_options *options, bm_str text,
                            const bm_shingle_batch *right)
{
    bm_text_batch units = {.options = *options};
    bm_shingle_batch batch = {0};
    CHECK(bm_unit_text_add(shingler, text, &units, NULL) == BM_OK);
    CHECK(units.n_docs == 1 && units.slots[0] == 0);
    CHECK(units.slots[1] >= right->offsets[1] || units.n_by_host == 1);
    CHECK(bm_unit_text_hash(shingler, &units, 0, &batch, NULL) == BM_OK);
    check_document(&batch, 0, right);
    CHECK(units.n_empty + batch.n_empty == right->n_empty);
    CHECK(units.n_short + batch.n_short == right->n_short);
    bm_shingle_batch_reset(&batch);
    bm_text_batch_reset(&units);
}

/* Adds documents one after another to one batch with one shingler, as in a job. */
static void check_cuts(const char *cpu, const bm_text_options *options, bm_str text,
                       const bm_shingle_batch *right)
{
    bm_shingler *shingler;
    bm_shingle_batch batch = {.counted = right->counted};
    const struct bm_joined *joined;
    CHECK(bm_shingler_open(options, cpu, &shingler, NULL) == BM_OK);
    CHECK(bm_shingler_add(shingler, text, &batch, NULL) == BM_OK);
    check_document(&batch, 0, right);
    CHECK(batch.n_empty == right->n_empty && batch.n_short == right->n_short);
    CHECK(bm_shingler_join(shingler, text, &joined, NULL) == BM_OK);
    CHECK(bm_shingler_add_last_joined(shingler, &batch, NULL) == BM_OK);
    CHECK(batch.n_docs == 2);
    check_document(&batch, 1, right);
    if (bm_text_batch_able(options))
        check_unit_text(shingler, options, text, right);
    bm_shingle_batch_reset(&batch);
    bm_shingler_close(shingler);
}

/* A way of signing, opened once for all inputs: drawing its coefficients takes longer than signing.
 */
typedef struct signing {
    bm_scheme_params params;
    uint32_t rows;
    bm_backend *backends[N_ISAS];
} signing;

static const signing *signing_of(uint8_t choice)
{
    static signing known[256];
    static const uint32_t perms[] = {1, 3, 8, 16, 17, 64, 100, 128};
    signing *s = &known[choice];
    if (s->params.perms != 0)
        return s;
    const bm_sketch_options sketch = {.perms = perms[choice & 7],
                                      .seed = choice >> 4,
                                      .scheme = choice & 8 ? BM_SCHEME_OPH : BM_SCHEME_AFFINE32};
    s->rows = sketch.perms / N_BANDS;
    CHECK(bm_scheme_draw(&sketch, &s->params, NULL) == BM_OK);
    for (size_t i = 0; i < N_ISAS; i++) {
        const bm_backend_cfg cfg = {.sketch = sketch,
                                    .bands = s->rows > 0 ? N_BANDS : 0,
                                    .rows = s->rows,
                                    .device = "cpu",
                                    .cpu = bm_isa_name(isas[i])};
        if (bm_isa_available(isas[i]))
            CHECK(bm_backend_cpu.open(&cfg, &s->backends[i], NULL) == BM_OK);
    }
    return s;
}

/* Signs the document and, after it, an empty one. */
static void check_signs(const signing *s, size_t isa, const bm_shingle_batch *right,
                        const uint32_t *words)
{
    const uint32_t perms = s->params.perms;
    const uint64_t n = right->offsets[1], offsets[] = {0, n, n};
    uint32_t signed_words[2 * BM_PERMS_MAX];
    uint64_t keys[2 * N_BANDS], right_keys[N_BANDS];
    bm_sign_task task = {.offsets = offsets,
                         .hashes = right->hashes,
                         .n_docs = 2,
                         .words = signed_words,
                         .keys = s->rows > 0 ? keys : NULL};
    CHECK(bm_backend_cpu.submit(s->backends[isa], &task, NULL) == BM_OK);
    CHECK(bm_backend_cpu.wait(s->backends[isa], &task, NULL) == BM_OK);
    CHECK(memcmp(signed_words, words, perms * sizeof *words) == 0);
    for (uint32_t i = 0; i < perms; i++)
        CHECK(signed_words[perms + i] == BM_NO_SHINGLE32);
    if (s->rows == 0)
        return;
    bm_band_keys_scalar(words, N_BANDS, s->rows, n == 0, right_keys);
    CHECK(memcmp(keys, right_keys, sizeof right_keys) == 0);
    for (uint32_t i = 0; i < N_BANDS; i++)
        CHECK(keys[N_BANDS + i] == BM_NO_BAND_KEY);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    const bm_text_options options = text_options(data);
    const signing *s = signing_of(data[3]);
    bm_buf valid = {0};
    uint64_t n_replaced = 0;
    CHECK(bm_utf8_repair((const char *)data + 4, size - 4, &valid, &n_replaced, NULL) == BM_OK);
    /* in an allocation of exactly its size */
    char *block = malloc(valid.len + (valid.len == 0));
    CHECK(block != NULL);
    if (valid.len > 0)
        memcpy(block, valid.data, valid.len);
    const bm_str text = {block, valid.len};

    bm_shingler *shingler;
    bm_shingle_batch right = {.counted = (data[3] & 1) != 0};
    uint32_t words[BM_PERMS_MAX];
    CHECK(bm_shingler_open(&options, "scalar", &shingler, NULL) == BM_OK);
    CHECK(shingle_exactly(&options, text, &right, NULL) == BM_OK);
    CHECK(right.n_docs == 1 && right.n_empty + right.n_short <= 1);
    s->params.ops->sign(&s->params, right.hashes, right.offsets[1], words);
    for (size_t i = 0; i < N_ISAS; i++) {
        if (!bm_isa_available(isas[i]))
            continue;
        check_cuts(bm_isa_name(isas[i]), &options, text, &right);
        check_signs(s, i, &right, words);
    }
    check_list(options, (bm_str){(const char *)data + 4, size - 4});
    bm_shingle_batch_reset(&right);
    bm_shingler_close(shingler);
    free(block);
    bm_buf_reset(&valid);
    return 0;
}
