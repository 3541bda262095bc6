/* SPDX-License-Identifier: Apache-2.0 */
/* libgit2_stub.c -- replaces libgit2 in every test program, which Criterion starts in each
 * process, and every Test() is one: it would load eighteen more libraries and read the machine's
 * certificates, two thirds of what a short test takes. Criterion calls it for the differences that
 * asserts of <criterion/new/assert.h> show; no test has such, and one that had would end here when
 * it fails, which says so. */
#include <stdio.h>
#include <stdlib.h>

int git_libgit2_init(void);
int git_libgit2_shutdown(void);
int git_diff_buffers(void);

int git_libgit2_init(void)
{
    return 1; /* how often it was started */
}

int git_libgit2_shutdown(void)
{
    return 0;
}

int git_diff_buffers(void)
{
    fputs("libgit2_stub.c: no criterion/new/assert.h here (use criterion/criterion.h)\n", stderr);
    abort();
}
