/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_damage.c -- each byte of a small index is changed in turn: the check finds the change,
 * or every look-up answers as before; nothing crashes. BANDMILL_TEST_SIZE=full changes every byte;
 * otherwise the first bytes of pages that LMDB reads, and a sample of the others. */
#include "tests/unit/store/store_model.h"

#include <fcntl.h>

#include "store/piece.h"
#include "tests/world/scratch.h"
#include "tests/world/sized.h"

#define PAGE 4096u

static void count(void *ctx, const char *what)
{
    (void)what;
    ++*(unsigned *)ctx;
}

static bool check_finds(const char *dir)
{
    unsigned n = 0;
    const bm_store_check_cfg cfg = {.report = count, .ctx = &n};
    const bm_status status = bm_store_check(dir, &cfg, NULL);
    cr_assert(status == (n > 0 ? BM_ERR_FORMAT : BM_OK), "%d with %u words", (int)status, n);
    return n > 0;
}

/* Runs all look-ups, whatever they answer; true: all answers agree with the model. */
static bool answers(const model *m, const char *dir)
{
    const bm_store_cfg cfg = {.mode = BM_STORE_READ};
    bm_store *store = NULL;
    bm_store_view *view = NULL;
    char why[200];
    bool same = bm_store_open(dir, &cfg, &store, NULL) == BM_OK &&
                bm_store_view_open(store, &view, NULL) == BM_OK;
    same = same && model_same(m, view, true, why);
    for (uint32_t band = 0; view != NULL && band < BANDS; band++)
        (void)model_same_band(m, view, band, why);
    for (uint32_t i = 0; view != NULL && i < m->n; i++)
        (void)model_same_doc(m, view, i, why);
    bm_store_view_close(view);
    bm_store_close(store);
    return same;
}

/* A writer may refuse damaged pieces or go on, but must not end the process. */
static void write_on(const model *m, const char *dir)
{
    const bm_store_cfg cfg = {.mode = BM_STORE_WRITE};
    bm_store *store = NULL;
    uint64_t r = 9;
    model *copy = malloc(sizeof *copy);
    memcpy(copy, m, sizeof *copy);
    if (bm_store_open(dir, &cfg, &store, NULL) == BM_OK &&
        model_add(copy, store, 5, &r, NULL) == BM_OK &&
        model_remove(copy, store, 5, &r, NULL) == BM_OK)
        (void)bm_store_commit(store, NULL);
    bm_store_close(store);
    free(copy);
}

static model *small_index(scratch *s)
{
    uint64_t r = 11;
    model *m = calloc(1, sizeof *m);
    *s = scratch_open();
    scratch_folder(s, "index");
    bm_store *store = model_create(scratch_at(s, "index"));
    cr_assert_eq(model_add(m, store, 12, &r, NULL), BM_OK);
    model_commit(store);
    cr_assert_eq(model_add(m, store, 5, &r, NULL), BM_OK);
    cr_assert_eq(model_remove(m, store, 6, &r, NULL), BM_OK);
    snprintf(m->note, sizeof m->note, "a note");
    cr_assert_eq(bm_store_note(store, BM_NOTE_INPUTS, (bm_str){m->note, 6}, NULL), BM_OK);
    model_commit(store);
    cr_assert_eq(model_add(m, store, 3, &r, NULL), BM_OK);
    model_commit(store);
    bm_store_close(store);
    return m;
}

/* The files of an index, as they were before any damage. */
typedef struct sound_files {
    int data, record; /* descriptors */
    size_t size, record_size;
    uint8_t *data_bytes, *record_bytes;
} sound_files;

static sound_files files_open(scratch *s)
{
    sound_files f;
    f.data_bytes = (uint8_t *)scratch_get(s, "index/data.mdb", &f.size);
    f.record_bytes = (uint8_t *)scratch_get(s, "index/last_commit", &f.record_size);
    f.data = open(scratch_at(s, "index/data.mdb"), O_RDWR);
    f.record = open(scratch_at(s, "index/last_commit"), O_RDWR);
    cr_assert(f.data >= 0 && f.record >= 0);
    return f;
}

/* Restores both files, whatever a writer changed in them. */
static void files_restore(const sound_files *f)
{
    cr_assert_eq(pwrite(f->data, f->data_bytes, f->size, 0), (ssize_t)f->size);
    cr_assert_eq(ftruncate(f->data, (off_t)f->size), 0);
    cr_assert_eq(pwrite(f->record, f->record_bytes, f->record_size, 0), (ssize_t)f->record_size);
}

static void files_close(sound_files *f)
{
    close(f->data);
    close(f->record);
    free(f->data_bytes);
    free(f->record_bytes);
}

/* Is the byte in a page that LMDB itself reads (meta, branch or leaf)? */
static bool is_of_tree(const uint8_t *file, size_t at)
{
    const uint8_t *page = file + at / PAGE * PAGE;
    return bm_le64_get(page) == at / PAGE && (bm_le16_get(page + 10) & 11) != 0;
}

Test(store_damage, each_changed_byte_is_found_or_changes_nothing, .timeout = 3600)
{
    const char *given = getenv("BANDMILL_TEST_SIZE");
    const bool full = given != NULL && strcmp(given, "full") == 0;
    static const uint8_t changes[9] = {0x01, 0x80, 0xFF, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40};
    SCRATCH s;
    model *m = small_index(&s);
    size_t found = 0, same = 0, written = 0;
    const char *dir = scratch_at(&s, "index");
    sound_files f = files_open(&s);
    const uint8_t *file = f.data_bytes;
    const size_t size = f.size;
    const int fd = f.data;
    cr_assert(answers(m, dir) && !check_finds(dir));
    for (size_t i = 0; i < size; i++) {
        const bool tree = is_of_tree(file, i);
        if (!full && (tree ? i % PAGE > 160 && i % 41 != 0 : i % 241 != 0))
            continue;
        if (sized_small() && i % 7 != i / PAGE % 7)
            continue;
        /* LMDB uses the first bytes of the two meta pages as sizes and page numbers: change every
         * bit. */
        const bool first = i < 2 * (size_t)PAGE && i % PAGE < 160 && !sized_small();
        const uint8_t changed = file[i] ^ changes[i % 3];
        for (size_t c = 0; first && c < 9; c++) {
            const uint8_t other = file[i] ^ changes[c];
            cr_assert_eq(pwrite(fd, &other, 1, (off_t)i), 1);
            cr_assert(check_finds(dir) || answers(m, dir), "byte %zu: %02x", i, other);
        }
        cr_assert_eq(pwrite(fd, &changed, 1, (off_t)i), 1);
        const bool finds = check_finds(dir), as_before = answers(m, dir);
        cr_assert(finds || as_before, "byte %zu, page %zu: %02x", i, i / PAGE, changed);
        found += finds;
        same += as_before && !finds;
        if (tree && (full || i % 7 == 0 || (sized_small() && i % 5 == 0))) {
            write_on(m, dir);
            written++;
            files_restore(&f);
        }
        cr_assert_eq(pwrite(fd, &file[i], 1, (off_t)i), 1);
    }
    cr_log_info("%zu bytes: %zu changes found, %zu change nothing, %zu written to", size, found,
                same, written);
    cr_assert(found > same / 100 && answers(m, dir) && !check_finds(dir));
    files_close(&f);
    free(m);
}

Test(store_damage, a_file_cut_off_anywhere_is_refused_or_whole)
{
    SCRATCH s;
    model *m = small_index(&s);
    const char *dir = scratch_at(&s, "index");
    sound_files f = files_open(&s);
    for (size_t cut = 0; cut < f.size; cut += 1511) {
        files_restore(&f);
        cr_assert_eq(ftruncate(f.data, (off_t)cut), 0);
        cr_assert(check_finds(dir) || answers(m, dir), "cut at %zu", cut);
        (void)answers(m, dir);
        write_on(m, dir);
    }
    files_close(&f);
    free(m);
}

static bool is_index(const char *dir)
{
    bool is = false;
    bm_error err = {0};
    cr_assert_eq(bm_store_is(dir, &is, &err), BM_OK, "%s", err.message);
    return is;
}

Test(store_damage, an_index_without_its_first_page_is_still_an_index)
{
    static const uint8_t nothing[PAGE];
    SCRATCH s;
    model *m = small_index(&s);
    const char *dir = scratch_at(&s, "index");
    sound_files f = files_open(&s);
    cr_assert_eq(pwrite(f.data, nothing, PAGE, 0), PAGE);
    cr_expect(is_index(dir));
    cr_expect(check_finds(dir));
    const uint8_t none[8] = {0};
    cr_assert_eq(pwrite(f.record, none, 8, 0), 8);
    cr_assert_eq(pwrite(f.record, none, 8, 256 << 10), 8);
    cr_expect(is_index(dir), "damaged is not the same as not there");
    cr_assert_eq(unlink(scratch_at(&s, "index/last_commit")), 0);
    cr_expect_not(is_index(scratch_at(&s, "index")));
    files_close(&f);
    free(m);
}
