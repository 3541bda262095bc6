/* SPDX-License-Identifier: Apache-2.0 */
/* completions.h -- the files of packaging/completions, embedded by cmake/embed_files.cmake. */
#pragma once

#include <stddef.h>

typedef struct cli_completion {
    const char *name; /* such as "bandmill.bash" */
    const char *text; /* ended by NUL */
    size_t len;
} cli_completion;

/* the completions of bash, zsh and fish */
extern const cli_completion cli_completions[];
