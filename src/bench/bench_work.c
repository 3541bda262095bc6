/* SPDX-License-Identifier: Apache-2.0 */
/* bench_work.c -- repeatable work on resident hashes, on text, and at the arithmetic limit. See
 * bench_work.h.
 *
 * Tests: tests/unit/bench/test_bench_limit.c, tests/unit/bench/test_bench_rate.c,
 *        tests/unit/bench/test_bench_run.c, tests/unit/bench/test_bench_text.c */
#include "bench/bench_work.h"

#include <math.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/system.h"
#include "cpu/cpu_backend.h"
#include "cpu/sign_loops.h"
#include "input/input_set.h"
#include "model/option_words.h"
#include "model/scheme_facts.h"
#include "opencl/cl_backend.h"
#include "results/sign_dir.h"
#include "sources/batch_sources.h"

/* bench_text -- gets texts from files, through the readers of the jobs, or from a generator.
 *
 * The generator draws a word of rank r with a probability of about 1/r (Zipf), and frequent words
 * are short, so shingles repeat about as they do in prose. A document has 40 to 240 words. */

enum {
    VOCABULARY = 20000,
    COMMON = 64,    /* most frequent words; they make up two fifths of the text */
    WORD_MAX = 14,  /* most letters of a word */
    LETTER_MAX = 3, /* most bytes of a letter */
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

static bm_status add_record(void *ctx, const bm_record *record, bm_error *err)
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
        status = bm_batch_parser_run(parser, next.batch, add_record, r, err);
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
    BM_TRY_OUT(bm_input_set_open(&input, NULL, 0, callbacks, &set, err));
    if (!bm_format_has_text(bm_input_set_format(set)))
        BM_TRY_OUT(bm_fail_field(err, "paths", "bench takes documents with text, not hashes"));
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

typedef struct text_word {
    uint8_t len;                           /* bytes of the word */
    char bytes[WORD_MAX * LETTER_MAX + 1]; /* the word, and the space after it */
} text_word;

/* Letters as strings. They are drawn with equal probability, so a frequent letter may be listed
 * several times. */
typedef struct script {
    const char *const *letters;
    uint32_t n_letters;
    bool spaced; /* words are separated by spaces */
} script;

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))

static const char *const english[] = {"e", "t", "a", "o", "i", "n", "s", "h", "r", "d",
                                      "l", "u", "c", "m", "f", "w", "y", "p", "v", "b",
                                      "g", "k", "q", "j", "x", "z", "e", "e", "e", "t",
                                      "t", "a", "a", "o", "o", "n", "n", "i", "i"};
/* About one letter in five has an accent. */
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

static int compare_words(const text_word *a, const text_word *b)
{
    const int order = memcmp(a->bytes, b->bytes, a->len < b->len ? a->len : b->len);
    return order != 0 ? order : (int)a->len - (int)b->len;
}

static void make_vocabulary(bm_random *random, const script *of, text_word *words)
{
    for (uint32_t rank = 0; rank < VOCABULARY; rank++) {
        /* from 2 letters for the first word to about 9 for the rarest */
        uint64_t longest = 3 + (uint64_t)log2(rank + 1.0);
        uint64_t n =
            bm_random_range(random, 1 + longest / 3, longest < WORD_MAX ? longest : WORD_MAX);
        text_word *w = &words[rank];
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

/* List the commonest words as stop words (text/stop_words.h), in ascending order, each word
 * once. */
static bm_status list_common(const text_word *words, bm_buf *out, bm_error *err)
{
    const text_word *before = NULL, *least;
    do {
        least = NULL;
        for (const text_word *w = words; w < words + COMMON; w++)
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

static bm_status make_document(bm_random *random, const text_word *words, bool spaced,
                               bm_bench_text *text, bm_error *err)
{
    uint64_t n = bm_random_range(random, 40, 241);
    BM_TRY(bm_buf_reserve(&text->bytes, (size_t)n * sizeof words[0].bytes, err));
    for (uint64_t i = 0; i < n; i++) {
        double u = bm_random_u32(random) * 0x1p-32; /* exp of a uniform number: density 1/rank */
        const text_word *w = &words[(uint32_t)(exp(u * log(VOCABULARY + 1.0)) - 1)];
        size_t len = (size_t)w->len + (spaced && i + 1 < n); /* the last word has no space after
                                                                it */
        memcpy(text->bytes.data + text->bytes.len, w->bytes, len);
        text->bytes.len += len;
    }
    return end_document(text, err);
}

/* Generate documents in one script, until they have `bytes` bytes in all. */
static bm_status make(const script *of, size_t bytes, bm_bench_text *text, bm_error *err)
{
    text_word *words = NULL;
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

#define LIMIT_ROUNDS       200000u           /* takes about a millisecond */
#define NATIVE_TEXT_HASHES ((size_t)1 << 14) /* hashes in a task: fits in the L2 cache */
#define DEVICE_TEXT_HASHES ((size_t)1 << 21) /* hashes in a task: 16 MB, two tasks per thread */

/* --- a device and its workers --- */

bm_status bm_bench_device_open(const bm_bench_options *options, const bm_device_info *info,
                               uint32_t n_workers, bm_bench_device *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    pthread_mutex_init(&out->lock, NULL);
    out->info = info;
    out->row_uints = bm_scheme_row_uints(options->sketch.scheme, options->sketch.perms);
    out->n_workers = n_workers;
    BM_TRY(bm_new_zero(&out->workers, n_workers, err));
    bm_device_settings settings = bm_device_settings_of(&options->device);
    settings.profile = true;
    bm_backend_cfg cfg = {.sketch = options->sketch,
                          .device = info->spec,
                          .cpu = options->device.cpu,
                          .cache_dir = options->device.cache_dir,
                          .settings = &settings,
                          .callbacks = &options->callbacks};
    const bm_backend_ops *ops =
        info->kind == BM_DEVICE_NATIVE ? &bm_backend_cpu : &bm_backend_opencl;
    return ops->open(&cfg, &out->backend, err);
}

void bm_bench_device_close(bm_bench_device *device)
{
    bm_backend *backend = device->backend;
    const bool stuck =
        backend != NULL && backend->ops->drain(backend, NULL) != BM_OK && backend->stuck;
    bm_backend_close(backend);
    if (stuck)
        device->workers = NULL; /* leaked, because the device may still write to them */
    for (uint32_t w = 0; device->workers != NULL && w < device->n_workers; w++) {
        bm_bench_worker *worker = &device->workers[w];
        bm_shingler_close(worker->shingler);
        for (size_t s = 0; s < BM_BENCH_SLOTS; s++) {
            bm_shingle_batch_reset(&worker->slots[s].batch);
            bm_free(worker->slots[s].words);
        }
    }
    bm_free(device->workers);
    pthread_mutex_destroy(&device->lock);
    memset(device, 0, sizeof *device);
}

/* Make room for the words of the slot's documents, and set up the task. */
static bm_status set_task(const bm_bench_device *device, bm_bench_slot *slot, bm_error *err)
{
    size_t n_docs = slot->batch.n_docs;
    if (n_docs * device->row_uints > slot->cap_words) {
        bm_free(slot->words);
        slot->cap_words = n_docs * device->row_uints * 5 / 4;
        slot->words = bm_alloc_aligned(slot->cap_words, sizeof *slot->words);
        if (slot->words == NULL) {
            size_t bytes = slot->cap_words * sizeof *slot->words;
            slot->cap_words = 0;
            return bm_fail_nomem(err, bytes);
        }
    }
    slot->task = (bm_sign_task){.offsets = slot->batch.offsets,
                                .hashes = slot->batch.hashes,
                                .n_docs = n_docs,
                                .words = slot->words};
    return BM_OK;
}

bm_status bm_bench_device_fill(bm_bench_device *device, size_t doc_hashes, bm_error *err)
{
    size_t n_docs = device->backend->batch_hashes / doc_hashes + 1, n = n_docs * doc_hashes;
    bm_random random;
    bm_random_init(&random, 1);
    uint32_t n_workers = device->backend->parallel ? device->n_workers : 1;
    for (uint32_t i = 0; i < n_workers * BM_BENCH_SLOTS; i++) {
        bm_bench_slot *slot = &device->workers[i / BM_BENCH_SLOTS].slots[i % BM_BENCH_SLOTS];
        bm_shingle_batch_clear(&slot->batch);
        BM_TRY(bm_shingle_batch_reserve(&slot->batch, n_docs, n, err));
        for (size_t h = 0; h < n; h++)
            slot->batch.hashes[h] = bm_random_u64(&random);
        for (size_t d = 0; d <= n_docs; d++)
            slot->batch.offsets[d] = d * doc_hashes;
        slot->batch.n_docs = n_docs;
        BM_TRY(set_task(device, slot, err));
    }
    return BM_OK;
}

bm_status bm_bench_device_set_text(bm_bench_device *device, const bm_bench_options *options,
                                   const bm_text_options *shingle, const bm_bench_text *text,
                                   bm_error *err)
{
    device->text = text;
    for (uint32_t w = 0; w < device->n_workers; w++) {
        bm_bench_worker *worker = &device->workers[w];
        bm_shingler *shingler = NULL;
        BM_TRY(bm_shingler_open(shingle, options->device.cpu, &shingler, err));
        bm_shingler_close(worker->shingler);
        worker->shingler = shingler;
        worker->next_doc = text->n * w / device->n_workers;
    }
    return BM_OK;
}

/* --- tasks in progress --- */

/* Wait for the oldest task in progress. The lock is held. */
static bm_status wait_oldest(bm_bench_device *device, bm_error *err)
{
    bm_bench_slot *slot = device->under_way[0];
    bm_status status = device->backend->ops->wait(device->backend, &slot->task, err);
    device->failed = device->failed || status != BM_OK;
    slot->under_way = false;
    device->n_under_way--;
    memmove(&device->under_way[0], &device->under_way[1],
            device->n_under_way * sizeof(bm_bench_slot *));
    return status;
}

static bm_status already_failed(const bm_bench_device *device, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_DEVICE, device->info->spec, 0, "the device failed");
}

static bm_status submit(bm_bench_device *device, bm_bench_slot *slot, bm_error *err)
{
    bm_backend *backend = device->backend;
    if (backend->parallel)
        return backend->ops->submit(backend, &slot->task, err);
    size_t depth = backend->depth < BM_BENCH_DEPTH_MAX ? backend->depth : BM_BENCH_DEPTH_MAX;
    bm_status status = BM_OK;
    pthread_mutex_lock(&device->lock);
    if (device->failed)
        BM_TRY_OUT(already_failed(device, err));
    while (device->n_under_way >= depth)
        BM_TRY_OUT(wait_oldest(device, err));
    status = backend->ops->submit(backend, &slot->task, err);
    device->failed = status != BM_OK;
    BM_TRY_OUT(status);
    slot->under_way = true;
    device->under_way[device->n_under_way++] = slot;
out:
    pthread_mutex_unlock(&device->lock);
    return status;
}

static bm_status wait_for(bm_bench_device *device, bm_bench_slot *slot, bm_error *err)
{
    if (device->backend->parallel)
        return BM_OK;
    bm_status status = BM_OK;
    pthread_mutex_lock(&device->lock);
    if (device->failed && slot->under_way)
        BM_TRY_OUT(already_failed(device, err));
    while (slot->under_way)
        BM_TRY_OUT(wait_oldest(device, err));
out:
    pthread_mutex_unlock(&device->lock);
    return status;
}

static bm_status finish_thread(void *ctx, uint32_t thread, bm_error *err)
{
    bm_bench_device *device = ctx;
    for (size_t s = 0; s < BM_BENCH_SLOTS; s++)
        BM_TRY(wait_for(device, &device->workers[thread].slots[s], err));
    return BM_OK;
}

static bm_bench_slot *next_slot(bm_bench_worker *worker)
{
    bm_bench_slot *slot = &worker->slots[worker->next_slot];
    worker->next_slot = (worker->next_slot + 1) % BM_BENCH_SLOTS;
    return slot;
}

/* --- the work --- */

static bm_status work_resident(void *ctx, uint32_t thread, bm_bench_done *done, bm_error *err)
{
    bm_bench_device *device = ctx;
    bm_bench_slot *slot = next_slot(&device->workers[thread]);
    bm_status status = BM_OK;
    BM_TRY_OUT(wait_for(device, slot, err));
    status = submit(device, slot, err);
out:
    done->shingles += (double)bm_shingle_batch_hashes(&slot->batch);
    return status;
}

static bm_status work_kernel(void *ctx, uint32_t thread, bm_bench_done *done, bm_error *err)
{
    bm_bench_device *device = ctx;
    bm_bench_slot *slot = next_slot(&device->workers[thread]);
    double before = device->backend->kernel_seconds;
    bm_status status = BM_OK;
    BM_TRY_OUT(submit(device, slot, err));
    status = wait_for(device, slot, err);
out:
    done->seconds += device->backend->kernel_seconds - before;
    done->shingles += (double)bm_shingle_batch_hashes(&slot->batch);
    return status;
}

static bm_status work_text(void *ctx, uint32_t thread, bm_bench_done *done, bm_error *err)
{
    bm_bench_device *device = ctx;
    bm_bench_worker *worker = &device->workers[thread];
    bm_bench_slot *slot = next_slot(worker);
    size_t full = device->backend->batch_hashes, most = DEVICE_TEXT_HASHES;
    if (device->backend->parallel)
        most = NATIVE_TEXT_HASHES;
    full = full < most ? full : most;
    bm_status status = wait_for(device, slot, err);
    bm_shingle_batch_clear(&slot->batch);
    double bytes = 0;
    BM_TRY_OUT(status);
    for (size_t docs = 0; docs < device->text->n; docs++) {
        if (bm_shingle_batch_hashes(&slot->batch) >= full)
            break;
        bm_str text = bm_bench_text_get(device->text, worker->next_doc);
        worker->next_doc = (worker->next_doc + 1) % device->text->n;
        bytes += (double)text.len;
        BM_TRY_OUT(bm_shingler_add(worker->shingler, text, &slot->batch, err));
    }
    BM_TRY_OUT(set_task(device, slot, err));
    status = submit(device, slot, err);
out:
    done->bytes += bytes;
    done->shingles += (double)bm_shingle_batch_hashes(&slot->batch);
    return status;
}

static bm_status work_limit(void *ctx, uint32_t thread, bm_bench_done *done, bm_error *err)
{
    (void)thread;
    (void)err;
    const bm_bench_limit *limit = ctx;
    alignas(BM_ALIGNMENT) uint32_t words[BM_PERMS_MAX];
    memset(words, 0xFF, sizeof words);
    limit->loops->arithmetic(&limit->params, LIMIT_ROUNDS, words);
    done->shingles += LIMIT_ROUNDS;
    return BM_OK;
}

const bm_bench_work bm_bench_work_resident = {.work = work_resident, .finish = finish_thread};
const bm_bench_work bm_bench_work_kernel = {.work = work_kernel, .finish = finish_thread};
const bm_bench_work bm_bench_work_text = {.work = work_text, .finish = finish_thread};
const bm_bench_work bm_bench_work_limit = {.work = work_limit};

/* bench_limit -- finds the limits of devices. See bench_work.h. */

uint32_t bm_bench_limit_threads(const bm_device_info *info, uint32_t threads)
{
    if (info->kind == BM_DEVICE_NATIVE)
        return threads;
    return info->kind == BM_DEVICE_CL_CPU ? info->compute_units : 0;
}

bm_status bm_bench_limit_open(const bm_bench_options *options, const bm_device_info *info,
                              bm_bench_limit *limit, bm_error *err)
{
    bm_isa isa;
    const char *cpu = info->kind == BM_DEVICE_NATIVE ? options->device.cpu : NULL;
    BM_TRY(bm_isa_choose(cpu, &isa, err));
    limit->loops = bm_sign_loops_find(isa);
    if (limit->loops == NULL)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "this build has no %s loops", bm_isa_name(isa));
    return bm_scheme_affine32.draw(&options->sketch, &limit->params, err);
}

/* Does the name of the platform or of the device contain `word`, ignoring case? The name of a
 * device need not contain the vendor. */
static bool names(const bm_device_info *info, const char *word)
{
    const size_t len = strlen(word);
    const char *const texts[] = {info->platform, info->name};
    for (size_t i = 0; i < 2; i++)
        for (const char *at = texts[i]; *at != '\0'; at++)
            if (strncasecmp(at, word, len) == 0)
                return true;
    return false;
}

/* Return how many compute units the driver counts as one. For RDNA (gfx10 and later), ROCm counts
 * pairs. */
static unsigned units_of_one(const bm_device_info *info)
{
    return strstr(info->platform, "AMD Accelerated Parallel Processing") != NULL &&
                   strncmp(info->name, "gfx1", 4) == 0
               ? 2
               : 1;
}

bool bm_bench_limit_computed(const bm_device_info *info, uint32_t perms, bm_bench_rate *out)
{
    static const struct {
        const char *word;
        unsigned least, most; /* 32-bit multiply-adds of a compute unit in a clock */
    } vendors[] = {{"NVIDIA", 64, 64}, {"AMD", 16, 64}, {"Advanced Micro Devices", 16, 64}};
    if (info->kind != BM_DEVICE_CL_GPU || perms == 0)
        return false;
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
        if (names(info, vendors[i].word)) {
            const double each =
                (double)info->compute_units * units_of_one(info) * info->clock_mhz / perms;
            *out = (bm_bench_rate){.median = each * vendors[i].least,
                                   .min = each * vendors[i].least,
                                   .max = each * vendors[i].most};
            return each > 0;
        }
    return false;
}

/* bench_rate -- does runs on a pool, and computes their median. See bench_work.h. */

/* One thread's results, in cache lines of its own. */
typedef struct tally {
    bm_bench_done done;
    double end;
    char apart[64 - sizeof(bm_bench_done) % 64 - sizeof(double)];
} tally;

typedef struct run {
    const bm_bench_plan *plan;
    const bm_bench_work *work;
    double begin;
    tally *tallies;
} run;

static bm_status run_thread(void *ctx, uint32_t thread, bm_error *err)
{
    run *r = ctx;
    if (thread >= r->plan->threads)
        return BM_OK;
    tally *mine = &r->tallies[thread];
    bm_status status = BM_OK;
    do
        status = r->work->work(r->work->ctx, thread, &mine->done, err);
    while (status == BM_OK && bm_clock_seconds() - r->begin < r->plan->min_seconds);
    if (r->work->finish != NULL) { /* even after a failure, because no task may stay under way */
        bm_status last = r->work->finish(r->work->ctx, thread, status == BM_OK ? err : NULL);
        status = status == BM_OK ? last : status;
    }
    mine->end = bm_clock_seconds();
    return status;
}

static bm_status run_once(run *r, double *shingles, double *bytes, bm_error *err)
{
    memset(r->tallies, 0, r->plan->threads * sizeof *r->tallies);
    r->begin = bm_clock_seconds();
    BM_TRY(bm_pool_run(r->plan->pool, run_thread, r, err));
    bm_bench_done sum = {0};
    double end = r->begin;
    for (uint32_t t = 0; t < r->plan->threads; t++) {
        sum.shingles += r->tallies[t].done.shingles;
        sum.bytes += r->tallies[t].done.bytes;
        sum.seconds += r->tallies[t].done.seconds;
        end = r->tallies[t].end > end ? r->tallies[t].end : end;
    }
    double seconds = sum.seconds > 0 ? sum.seconds : end - r->begin;
    *shingles = seconds > 0 ? sum.shingles / seconds * 1e-6 : 0;
    *bytes = seconds > 0 ? sum.bytes / seconds * 1e-6 : 0;
    return BM_OK;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void summarise(double *rates, uint32_t n, bm_bench_rate *out)
{
    if (out == NULL)
        return;
    qsort(rates, n, sizeof *rates, by_value);
    out->median = n % 2 != 0 ? rates[n / 2] : (rates[n / 2 - 1] + rates[n / 2]) / 2;
    out->min = rates[0];
    out->max = rates[n - 1];
}

/* The rates of the runs of a series: n + 1 rates of shingles, then n + 1 rates of bytes. In both,
 * the warm-up comes last. */
typedef struct found {
    tally *tallies;
    double *rates;
} found;

static bm_status run_series(const bm_bench_series *series, found *into, uint32_t n, uint32_t i,
                            bm_error *err)
{
    const bm_callbacks *calls = series->plan.callbacks;
    const uint32_t at = i == 0 ? n : i - 1;
    run r = {.plan = &series->plan, .work = &series->work, .tallies = into->tallies};
    if (calls != NULL && calls->cancelled != NULL && calls->cancelled(calls->ctx))
        return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
    return run_once(&r, &into->rates[at], &into->rates[n + 1 + at], err);
}

bm_status bm_bench_measure_all(const bm_bench_series *series, size_t n_series, bm_error *err)
{
    const uint32_t n = series[0].plan.repeats;
    bm_status status = BM_OK;
    found *all = NULL;
    BM_TRY(bm_new_zero(&all, n_series, err));
    for (size_t s = 0; s < n_series; s++) {
        all[s].tallies = bm_alloc_aligned(series[s].plan.threads, sizeof *all[s].tallies);
        all[s].rates = bm_alloc((size_t)n * 2 + 2, sizeof *all[s].rates);
        if (all[s].tallies == NULL || all[s].rates == NULL)
            BM_TRY_OUT(bm_fail_nomem(err, series[s].plan.threads * sizeof *all[s].tallies));
    }
    for (uint32_t i = 0; i <= n; i++) {
        for (size_t s = 0; s < n_series; s++)
            BM_TRY_OUT(run_series(&series[s], &all[s], n, i, err));
    }
out:
    for (size_t s = 0; s < n_series; s++) {
        if (status == BM_OK) {
            summarise(all[s].rates, n, series[s].shingles);
            summarise(all[s].rates + n + 1, n, series[s].bytes);
        }
        bm_free_all(all[s].tallies, all[s].rates);
    }
    bm_free(all);
    return status;
}

bm_status bm_bench_measure(const bm_bench_plan *plan, const bm_bench_work *work,
                           bm_bench_rate *shingles, bm_bench_rate *bytes, bm_error *err)
{
    const bm_bench_series series = {
        .plan = *plan, .work = *work, .shingles = shingles, .bytes = bytes};
    return bm_bench_measure_all(&series, 1, err);
}
