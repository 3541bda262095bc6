/* SPDX-License-Identifier: Apache-2.0 */
/* Each part of the options: its defaults and the ends of its ranges pass, and one step beyond is
 * refused with its name. tests/unit/jobs/test_public_api*.c cover enums and reserved words of whole
 * calls. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "model/option_check.h"
#include "model/option_words.h"

static const char *const one[] = {"one"};

typedef struct world {
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands;
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output;
    bm_callbacks callbacks;
} world;

static world make(void)
{
    world w = {.input = BM_INPUT_DEFAULTS,
               .text = BM_TEXT_DEFAULTS,
               .sketch = BM_SKETCH_DEFAULTS,
               .bands = BM_BAND_DEFAULTS,
               .resources = BM_RESOURCE_DEFAULTS};
    w.input.paths = one;
    w.input.n_paths = 1;
    return w;
}

static bm_status check(const world *w, bm_error *err)
{
    return bm_option_parts_check(&(bm_option_parts){.input = &w->input,
                                                    .text = &w->text,
                                                    .sketch = &w->sketch,
                                                    .bands = &w->bands,
                                                    .device = &w->device,
                                                    .resources = &w->resources,
                                                    .output = &w->output,
                                                    .callbacks = &w->callbacks},
                                 err);
}

#define EXPECT_FINE(w)                                                                             \
    do {                                                                                           \
        bm_error err_ = {0};                                                                       \
        cr_expect_eq(check(&(w), &err_), BM_OK, "%s", err_.message);                               \
    } while (0)
#define EXPECT_WRONG(w, name)                                                                      \
    do {                                                                                           \
        bm_error err_ = {0};                                                                       \
        cr_expect_eq(check(&(w), &err_), BM_ERR_USAGE, "%s", name);                                \
        cr_expect_str_eq(err_.field, name);                                                        \
        cr_expect_neq(err_.message[0], '\0');                                                      \
        cr_expect_eq(check(&(w), NULL), BM_ERR_USAGE);                                             \
    } while (0)

Test(option_check, defaults_pass_and_so_do_parts_that_a_call_has_not)
{
    world w = make();
    EXPECT_FINE(w);
    cr_expect_eq(bm_option_parts_check(&(bm_option_parts){0}, NULL), BM_OK);
}

Test(option_check, inputs_are_a_list_of_paths_or_a_file_of_them)
{
    world w = make();
    w.input.n_paths = 0;
    EXPECT_WRONG(w, "paths");
    w.input.paths = NULL;
    EXPECT_WRONG(w, "paths");
    w.input.files_from = "list";
    EXPECT_FINE(w);
    w.input.n_paths = 1;
    EXPECT_WRONG(w, "paths");
    w = make();
    w.input.n_text_fields = 2;
    EXPECT_WRONG(w, "text_fields");
    w.input.n_text_fields = 1;
    w.input.text_fields = one;
    EXPECT_FINE(w);
    static const char *const hole[] = {"one", NULL, "three"};
    w.input.paths = hole;
    w.input.n_paths = 3;
    EXPECT_WRONG(w, "paths");
    w.input.n_paths = 1;
    w.input.text_fields = hole;
    EXPECT_FINE(w);
    w.input.n_text_fields = 2;
    EXPECT_WRONG(w, "text_fields");
    w = make();
    w.input.names = hole;
    EXPECT_FINE(w);
    w.input.paths = (const char *const[]){"one", "two"};
    w.input.n_paths = 2;
    EXPECT_WRONG(w, "names");
}

Test(option_check, a_delimiter_is_ascii_and_no_quote_or_line_ending)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        world w = make();
        w.input.delimiter = (char)byte;
        if (byte < 0x80 && byte != '"' && byte != '\r' && byte != '\n')
            EXPECT_FINE(w);
        else
            EXPECT_WRONG(w, "delimiter");
    }
}

Test(option_check, numbers_of_signatures_and_threads_have_their_ends)
{
    world w = make();
    w.sketch.perms = BM_PERMS_MAX;
    w.sketch.seed = UINT32_MAX;
    w.resources.threads = BM_THREADS_MAX;
    EXPECT_FINE(w);
    w.sketch.perms++;
    EXPECT_WRONG(w, "perms");
    w = make();
    w.resources.threads = BM_THREADS_MAX + 1;
    EXPECT_WRONG(w, "threads");
    w = make();
    w.resources.checkpoint_seconds = NAN;
    EXPECT_WRONG(w, "checkpoint_seconds");
    w.resources.checkpoint_seconds = 0;
    w.device.probe_seconds = NAN;
    EXPECT_WRONG(w, "probe_seconds");
    w.device.probe_seconds = 0;
    w.device.call_seconds = NAN;
    EXPECT_WRONG(w, "call_seconds");
    w.device.call_seconds = 0;
    EXPECT_FINE(w);
}

Test(option_check, shingles_have_a_length_and_steps_that_go_together)
{
    world w = make();
    static const uint32_t fine[] = {1, 2, BM_SHINGLE_K_MAX};
    static const uint32_t wrong[] = {0, BM_SHINGLE_K_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        w.text.shingle_k = fine[i];
        EXPECT_FINE(w);
        w.text.shingle_k = wrong[i];
        EXPECT_WRONG(w, "shingle_k");
    }
    w = make();
    w.text.normalize = 2 * BM_NORM_INVISIBLE - 1 - BM_NORM_NFC;
    EXPECT_FINE(w);
    w.text.normalize |= BM_NORM_NFC;
    EXPECT_WRONG(w, "normalize");
    static const uint32_t no_steps[] = {2 * BM_NORM_INVISIBLE, UINT32_C(1) << 31, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        w.text.normalize = no_steps[i];
        EXPECT_WRONG(w, "normalize");
    }
}

Test(option_check, thresholds_lie_above_0_and_recalls_between_0_and_1)
{
    world w = make();
    w.bands.threshold = 1;
    w.bands.recall = 0.999999;
    EXPECT_FINE(w);
    w.bands.threshold = w.bands.recall = 1e-300;
    EXPECT_FINE(w);
    static const double wrong[] = {0, -0.5, 1.0000001, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        w = make();
        w.bands.threshold = wrong[i];
        EXPECT_WRONG(w, "threshold");
        w = make();
        w.bands.recall = wrong[i];
        EXPECT_WRONG(w, "recall");
    }
    w = make();
    w.bands.recall = 1;
    EXPECT_WRONG(w, "recall");
}

Test(option_check, bands_and_rows_come_together_and_within_the_permutations)
{
    world w = make();
    w.bands.bands = 4;
    EXPECT_WRONG(w, "bands"); /* the option that was set */
    w.bands.rows = BM_PERMS_MAX / 4;
    EXPECT_FINE(w);
    w.bands.rows++;
    EXPECT_WRONG(w, "bands");
    w.bands.bands = w.bands.rows = UINT32_MAX; /* the product does not fit in 32 bits */
    EXPECT_WRONG(w, "bands");
    w.bands.bands = UINT32_C(1) << 16;
    w.bands.rows = UINT32_C(1) << 16;
    EXPECT_WRONG(w, "bands");
    w.bands.bands = 0;
    EXPECT_WRONG(w, "rows");
}

/* Reserved words in turn, wrapping around: some parts already use some of theirs. */
#define RESERVED(part, i) (part).reserved[(i) % (sizeof(part).reserved / sizeof(part).reserved[0])]

Test(option_check, each_reserved_word_is_zero)
{
    for (size_t i = 0; i < 8; i++) {
        world w = make();
        RESERVED(w.text, i) = UINT64_C(1) << 63;
        EXPECT_WRONG(w, "text");
        w = make();
        RESERVED(w.device, i) = 1;
        EXPECT_WRONG(w, "device");
    }
    for (size_t i = 0; i < 4; i++) {
        world w = make();
        RESERVED(w.sketch, i) = 1;
        EXPECT_WRONG(w, "sketch");
        w = make();
        RESERVED(w.bands, i) = 1;
        EXPECT_WRONG(w, "bands");
        w = make();
        RESERVED(w.resources, i) = 1;
        EXPECT_WRONG(w, "resources");
        w = make();
        RESERVED(w.output, i) = 1;
        EXPECT_WRONG(w, "output");
        w = make();
        RESERVED(w.callbacks, i) = 1;
        EXPECT_WRONG(w, "callbacks");
    }
    world w = make();
    w.input.row_ids = 1; /* refused: the input is paths */
    EXPECT_WRONG(w, "row_ids");
    w = make();
    w.text.weights = BM_WEIGHTS_TFIDF;
    EXPECT_WRONG(w, "weights");
    w = make();
    w.sketch.reserved_flags = 1;
    EXPECT_WRONG(w, "sketch");
    w = make();
    w.device.reserved_flags = 1;
    EXPECT_WRONG(w, "device");
}
