/* SPDX-License-Identifier: Apache-2.0 */
/* world_document.h -- documents of numbered words in JSON Lines. Two of them share as many words as
 * their runs of numbers overlap. */
#pragma once

#include <stdio.h>

/* {"id":"PREFIXnumber","text":"wFROM wFROM+1 … "}, with n words. */
static inline void world_document(FILE *file, const char *prefix, int number, int from, int n)
{
    fprintf(file, "{\"id\":\"%s%d\",\"text\":\"", prefix, number);
    for (int word = from; word < from + n; word++)
        fprintf(file, "w%d ", word);
    fputs("\"}\n", file);
}
