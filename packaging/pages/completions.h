/* completions.h -- the tab key in three shells, from the tables of src/cli: a file each, on `to`. */
#ifndef BM_PAGES_COMPLETIONS_H
#define BM_PAGES_COMPLETIONS_H

#include <stdio.h>

void completion_for_bash(FILE *to);
void completion_for_fish(FILE *to);
void completion_for_zsh(FILE *to);

/* `text` without the letters that `masked` holds, each of which gets a backslash. */
void completion_put_masked(FILE *to, const char *text, const char *masked);
/* The first words of all commands, each once, with " " between: "index" stands for all of its own. */
void completion_put_first_words(FILE *to);
/* Whether `id` is the first command whose name begins with its first word. */
int completion_is_first(unsigned id);
/* What stands behind the first word of a command of two; NULL: it is one of one. */
const char *completion_second_word(unsigned id);

#endif
