/* input_set.c -- questions to the set, and its end. */
#include "input/input_set.h"

#include <unistd.h>

#include "base/memory.h"
#include "input/window_of.h"
#include "input/input_set_state.h"

void bm_input_set_close(bm_input_set *set)
{
    if (set == NULL)
        return;
    for (size_t i = 0; i < set->n_held; i++) {
        if (set->held[i].fd > STDIN_FILENO)
            close(set->held[i].fd);
        if (set->held[i].spool_fd >= 0)
            close(set->held[i].spool_fd);
    }
    for (size_t i = 0; i < set->n_sources; i++)
        bm_source_reset(&set->sources[i]);
    bm_free(set->held);
    bm_free(set->sources);
    bm_free(set->spool_dir);
    bm_free(set);
}

size_t bm_input_set_count(const bm_input_set *set)
{
    return set->n_sources;
}

bm_source *bm_input_set_source(const bm_input_set *set, size_t index)
{
    return &set->sources[index];
}

bm_source *bm_input_set_offsets(bm_input_set *set)
{
    return set->offsets.path != NULL ? &set->offsets : NULL;
}

void bm_input_set_rename(bm_input_set *set, const char *const *names, const char *offsets)
{
    for (size_t i = 0; i < set->n_sources; i++)
        set->sources[i].name = names[i];
    if (offsets != NULL)
        set->offsets.name = offsets;
}

bool bm_input_set_is_stream(const bm_input_set *set)
{
    return set->options.stream != NULL;
}

bm_format bm_input_set_format(const bm_input_set *set)
{
    return set->format;
}

uint64_t bm_input_set_total_bytes(const bm_input_set *set)
{
    return set->unknown_size ? 0 : set->total_bytes;
}

void bm_input_set_give(bm_input_set *set, const bm_input_room *room)
{
    set->room = *room;
}

bm_input_room bm_input_set_room(const bm_input_set *set)
{
    return set->room;
}

uint64_t bm_input_set_copied(const bm_input_set *set)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < set->n_held; i++)
        bytes += set->held[i].spool_bytes;
    return bytes;
}

bool bm_input_set_stays(const bm_input_set *set)
{
    return !set->unknown_size;
}

uint64_t bm_input_set_hidden(const bm_input_set *set)
{
    return set->n_hidden;
}

bm_status bm_input_set_rank(bm_input_set *set, const bm_keep_rules *rules, bm_error *err)
{
    return bm_record_rules_rank(&set->rules, set->format, rules, err);
}

bm_held *bm_input_set_held(const bm_input_set *set, size_t source)
{
    for (size_t i = 0; i < set->n_held; i++)
        if (set->held[i].source == source)
            return &set->held[i];
    return NULL;
}

bool bm_input_set_windows(const bm_input_set *set, uint64_t *bytes, size_t *largest)
{
    uint64_t most[BM_COMPRESSIONS] = {0}; /* a decoder of each kind may be open */
    bool any = false;
    *bytes = 0;
    *largest = 0;
    for (size_t i = 0; i < set->n_sources; i++) {
        const bm_source *source = &set->sources[i];
        any = any || bm_has_windows(source->compression);
        if (source->window > set->sources[*largest].window)
            *largest = i;
        if (source->window > most[source->compression])
            most[source->compression] =
                source->window < BM_WINDOW_MAX ? source->window : BM_WINDOW_MAX;
    }
    for (size_t i = 0; i < BM_COMPRESSIONS; i++)
        *bytes += most[i];
    return any;
}

void bm_input_set_limit_windows(bm_input_set *set, uint64_t bytes)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < set->n_sources; i++)
        if (set->sources[i].window > largest)
            largest = set->sources[i].window;
    unsigned log = 10;
    while (UINT64_C(2) << log <= bytes || UINT64_C(1) << log < largest)
        log++;
    set->window_log = log;
}
