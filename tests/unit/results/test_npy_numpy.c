/* SPDX-License-Identifier: Apache-2.0 */
/* test_npy_numpy.c -- NumPy reads what we write, and we read what NumPy writes. BM_PYTHON names a
 * Python with NumPy (default python3); without one the test is skipped. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "results/npy.h"
#include "tests/world/scratch.h"

static const char *python(void)
{
    const char *name = getenv("BM_PYTHON");
    static char command[600];
    name = name != NULL ? name : "python3";
    snprintf(command, sizeof command, "%s -c 'import numpy' 2>/dev/null", name);
    return system(command) == 0 ? name : NULL;
}

static void run(scratch *s, const char *name, const char *code)
{
    char command[4096];
    scratch_put_text(s, "check.py", code);
    snprintf(command, sizeof command, "cd '%s' && %s check.py", s->root, name);
    cr_assert_eq(system(command), 0, "%s", code);
}

Test(npy_numpy, numpy_loads_what_is_written)
{
    const char *name = python();
    if (name == NULL)
        cr_skip_test("no Python with NumPy (set BM_PYTHON)");
    SCRATCH s = scratch_open();
    bm_out_dir *dir = NULL;
    bm_npy_writer two = {0}, one = {0}, none = {0};
    const uint32_t rows[3][2] = {{1, 2}, {3, 4}, {0xFFFFFFFF, 6}};
    const uint64_t keys[2] = {UINT64_MAX, 7};
    cr_assert_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_open(dir, &(bm_npy_array){"signatures.npy", "<u4", 2}, &two, NULL),
                 BM_OK);
    cr_assert_eq(bm_npy_writer_rows(&two, rows, 3, 8, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_close(&two, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_open(dir, &(bm_npy_array){"n_shingles.npy", "<u8", 0}, &one, NULL),
                 BM_OK);
    cr_assert_eq(bm_npy_writer_rows(&one, keys, 2, 8, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_close(&one, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_open(dir, &(bm_npy_array){"band_keys.npy", "<u8", 9}, &none, NULL),
                 BM_OK);
    cr_assert_eq(bm_npy_writer_close(&none, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
    bm_out_dir_close(dir);
    run(&s, name,
        "import numpy as np\n"
        "a = np.load('out/signatures.npy')\n"
        "assert a.dtype == np.dtype('<u4') and a.flags.c_contiguous\n"
        "assert a.tolist() == [[1, 2], [3, 4], [2**32 - 1, 6]]\n"
        "b = np.load('out/n_shingles.npy')\n"
        "assert b.dtype == np.dtype('<u8') and b.tolist() == [2**64 - 1, 7]\n"
        "c = np.load('out/band_keys.npy', mmap_mode='r')\n"
        "assert c.shape == (0, 9)\n");
}

Test(npy_numpy, what_numpy_saves_is_read)
{
    const char *name = python();
    if (name == NULL)
        cr_skip_test("no Python with NumPy (set BM_PYTHON)");
    SCRATCH s = scratch_open();
    run(&s, name,
        "import numpy as np\n"
        "from numpy.lib import format as f\n"
        "np.save('a.npy', np.arange(6, dtype='<u4').reshape(2, 3))\n"
        "np.save('b.npy', np.arange(4, dtype='<i8'))\n"
        "f.write_array(open('c.npy', 'wb'), np.arange(5, dtype='<u8'), version=(3, 0))\n"
        "np.save('d.npy', np.asfortranarray(np.arange(6, dtype='<u4').reshape(2, 3)))\n");
    static const struct {
        const char *file, *type;
        uint32_t n_dims;
        uint64_t shape[2];
        bm_status status;
    } files[] = {{"a.npy", "<u4", 2, {2, 3}, BM_OK},
                 {"b.npy", "<i8", 1, {4, 0}, BM_OK},
                 {"c.npy", "<u8", 1, {5, 0}, BM_OK},
                 {"d.npy", "<u4", 2, {2, 3}, BM_ERR_INPUT}};
    for (size_t i = 0; i < 4; i++) {
        bm_npy_header h = {0};
        int fd = open(scratch_at(&s, files[i].file), O_RDONLY);
        cr_expect_eq(bm_npy_header_read(fd, files[i].file, &h, NULL), files[i].status);
        close(fd);
        if (files[i].status != BM_OK)
            continue;
        cr_expect_str_eq(h.type, files[i].type);
        cr_expect_eq(h.n_dims, files[i].n_dims);
        cr_expect_eq(h.shape[0], files[i].shape[0]);
        cr_expect_eq(h.shape[1], files[i].shape[1]);
    }
}
