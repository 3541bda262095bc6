/* SPDX-License-Identifier: Apache-2.0 */
/* input_ahead.c -- see the header.
 *
 * One mutex guards everything except the source that a thread is busy with and the block that it
 * has acquired. A thread acquires a block, fills it and appends it to the list of its source; the
 * reader copies from the block and releases it. Threads that unpack sources other than the reader's
 * leave some blocks free. Otherwise the reader could wait for ever.
 *
 * If the ends of members can be found without unpacking (members.h), one thread at a time reads the
 * source in order and cuts members off. All threads unpack these members. Any other source is
 * unpacked as a stream, by one thread at a time. If threads help (bm_input_ahead_help), the reader
 * itself unpacks the stream that it is reading, straight into the caller's buffer. Before the
 * reader waits, it helps too. Passing a block between threads costs a twentieth of the time of
 * unpacking it. So it is a gain to let another thread unpack a block only if that thread would be
 * idle.
 *
 * Tests: tests/unit/input/test_input_ahead.c, tests/race/race_pipeline.c */
#include "input/input_ahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/files.h"
#include "input/members.h"
#include "input/unpack.h"
#include "input/input_bytes.h"

#define SMALL_BLOCK ((size_t)1 << 20) /* bytes of a block of a stream */
/* Bytes of a block of members: a member of a file that bandmill compressed, and some more. */
#define MEMBER_BLOCK (((size_t)4 << 20) + (64u << 10))
#define PACKED_STEP  ((size_t)256 << 10)
#define OWN_BLOCKS   2u                  /* blocks that only the reader's source may use */
#define ENGINE_BYTES ((uint64_t)1 << 20) /* memory of a decoder without its window */
#define BZ2_BYTES    ((uint64_t)4 << 20)
#define LZ4_BYTES    ((uint64_t)8 << 20)
#define WINDOW_USUAL ((uint64_t)8 << 20) /* assumed if a source does not state its window */
/* A smaller source is not unpacked ahead: passing blocks would cost more than it saves. */
#define STORED_LEAST ((uint64_t)16 << 10)
#define LONG_PART    16u /* a record longer than 1/16 of the granted memory may need all of it */
#define WAIT_SECONDS .2  /* between two checks for cancellation */
#define NOWHERE      SIZE_MAX

typedef struct block {
    struct block *next;
    uint64_t stored; /* stored bytes of the source up to the end of this block */
    size_t pos, len;
    bool filling; /* members are being unpacked into this block */
    bool failed;  /* unpacking failed: the reader has to read the source itself */
    char data[];  /* plan.block_bytes bytes */
} block;

typedef enum slot_state {
    SLOT_FREE,
    SLOT_OPEN,  /* a thread unpacks the source, or will */
    SLOT_ENDED, /* all of the source is in blocks */
    SLOT_FAILED /* after the blocks, the reader has to read the source itself */
} slot_state;

/* One source that threads unpack ahead. */
typedef struct slot {
    size_t source;
    slot_state state;
    bool busy; /* a thread is reading the source */
    unsigned n_filling;
    block *first, *last;
    /* given: bytes that the reader has received; stored: how many stored bytes encode them */
    uint64_t given, stored;
    /* The next members are used by the thread that is busy with the slot. If no thread is busy with
     * it, they are guarded by the lock. */
    bm_input_bytes *bytes; /* NULL: not opened so far */
    bool begun;
    /* members are cut off `packed`, which has the bytes from the end of the last cut on */
    bool members;
    bool packed_end; /* the source has no bytes after those in `packed` */
    block *packed;   /* compressed bytes; NULL: none; not counted in ahead->n_used */
    bm_members_cut cut;
    uint64_t cut_bytes; /* stored bytes of all members that were cut */
} slot;

/* Member decoders, used by one thread at a time; NULL: not opened so far. */
typedef struct unpackers {
    struct unpackers *next;
    bm_members *of[BM_COMPRESSIONS];
} unpackers;

struct bm_input_ahead {
    bm_input_set *set;
    bm_input_bytes *own; /* used by the reader for sources without a slot, and for read_again */
    bm_ahead_plan plan;
    uint64_t done; /* stored bytes of the ended sources that had slots */
    slot *now;     /* the reader's slot; NULL: the reader uses `own`, or its source has ended */
    bool ended;    /* the reader has read all of its source */
    size_t source; /* the reader's source; NOWHERE: none yet */
    pthread_mutex_t lock;
    pthread_cond_t work, moved; /* work: wakes the unpacking threads; moved: wakes the reader */
    bm_callbacks callbacks;     /* for the unpacking threads */
    atomic_bool stop;
    bool paused;
    const slot *awaited; /* the reader waits until a thread is done with this slot */
    bool helped; /* this module has no threads of its own; other threads call bm_input_ahead_help */
    pthread_t *threads;
    size_t n_threads, n_asleep;
    unpackers *unpackers; /* list of decoders that no thread is using */
    /* no member decoder for this compression could be opened */
    atomic_bool without[BM_COMPRESSIONS];
    slot *slots;
    size_t next;   /* the first source that has not been begun */
    block *blocks; /* free blocks */
    size_t n_used; /* blocks that are not in the list `blocks` */
    size_t n_most; /* limit of n_used; grows only when the reader has to wait, to save memory */
};

/* --- granted memory --- */

/* Can threads other than the reader unpack this source? */
static bool is_open_to(const bm_input_set *set, size_t index)
{
    const bm_source *source = bm_input_set_source(set, index);
    return source->compression != BM_COMPRESSION_NONE && source->size >= STORED_LEAST &&
           source->unreadable == NULL && bm_input_set_held(set, index) == NULL;
}

static bool has_members(bm_compression kind)
{
    return kind == BM_COMPRESSION_GZ || kind == BM_COMPRESSION_ZST;
}

static uint64_t window_of(const bm_source *source)
{
    if (!bm_has_windows(source->compression))
        return 0;
    const uint64_t window = source->window != 0 ? source->window : WINDOW_USUAL;
    return window < BM_WINDOW_MAX ? window : BM_WINDOW_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Memory that each thread needs to unpack members: for Zstandard, a decoder with its window; for
 * gzip, 0. */
static uint64_t unpacker_bytes(const bm_source *source)
{
    return source->compression == BM_COMPRESSION_ZST
               ? ENGINE_BYTES + least(window_of(source), MEMBER_BLOCK)
               : 0;
}

static uint64_t engine_bytes(const bm_source *source)
{
    return ENGINE_BYTES + window_of(source) +
           (source->compression == BM_COMPRESSION_BZ2   ? BZ2_BYTES
            : source->compression == BM_COMPRESSION_LZ4 ? LZ4_BYTES
                                                        : 0);
}

/* Make a plan that uses at most `bytes`, with `engine` bytes per open source. All zeros: `bytes` is
 * too small. */
static bm_ahead_plan plan_with(uint32_t threads, size_t n, uint64_t engine, uint64_t bytes,
                               size_t block_bytes)
{
    const uint64_t slots = least(least(2 * (uint64_t)threads + 2, n), bytes / 2 / engine),
                   one = sizeof(block) + block_bytes, blocks = (bytes - slots * engine) / one;
    if (slots < least(n, 2) || blocks < 2 * OWN_BLOCKS + slots)
        return (bm_ahead_plan){0};
    return (bm_ahead_plan){.threads = threads,
                           .slots = (size_t)slots,
                           .blocks = (size_t)blocks,
                           .block_bytes = block_bytes,
                           .bytes = slots * engine + blocks * one};
}

uint64_t bm_input_ahead_grant(bm_input_set *set, uint32_t threads, uint64_t bytes)
{
    uint64_t engine = 0, window = 1, apart = 0;
    size_t n = 0, n_members = 0;
    for (size_t i = 0; i < set->n_sources; i++) {
        const bm_source *source = &set->sources[i];
        if (!is_open_to(set, i))
            continue;
        n++;
        n_members += has_members(source->compression);
        if (threads * unpacker_bytes(source) > apart)
            apart = threads * unpacker_bytes(source);
        engine = engine_bytes(source) > engine ? engine_bytes(source) : engine;
        window = window_of(source) > window ? window_of(source) : window;
    }
    bm_ahead_plan *plan = &set->ahead;
    *plan = (bm_ahead_plan){0};
    if (threads < 2)
        return 0;
    if (n_members > 0 && bytes > apart)
        *plan = plan_with(threads, n, engine + sizeof(block) + MEMBER_BLOCK, bytes - apart,
                          MEMBER_BLOCK);
    if (plan->threads > 0)
        plan->bytes += apart;
    if (plan->threads == 0 && n > 1)
        *plan = plan_with((uint32_t)least(threads, n), n, engine, bytes, SMALL_BLOCK);
    while (UINT64_C(1) << plan->window_log < window)
        plan->window_log++;
    return plan->bytes;
}

/* --- blocks; the lock is held --- */

static block *acquire_block(bm_input_ahead *ahead)
{
    block *b = ahead->blocks;
    if (b != NULL)
        ahead->blocks = b->next;
    else if ((b = bm_alloc(1, sizeof *b + ahead->plan.block_bytes)) == NULL)
        return NULL;
    ahead->n_used++;
    b->next = NULL;
    b->pos = b->len = 0;
    b->filling = b->failed = false;
    return b;
}

static void release_block(bm_input_ahead *ahead, block *b)
{
    b->next = ahead->blocks;
    ahead->blocks = b;
    ahead->n_used--;
    if (ahead->n_asleep > 0)
        pthread_cond_signal(&ahead->work);
}

static void put_block(slot *p, block *b)
{
    *(p->last != NULL ? &p->last->next : &p->first) = b;
    p->last = b;
}

static void drop_first(bm_input_ahead *ahead, slot *p)
{
    block *b = p->first;
    p->first = b->next;
    if (p->first == NULL)
        p->last = NULL;
    release_block(ahead, b);
}

/* --- threads that unpack --- */

static bool is_stopped(void *ctx)
{
    return atomic_load(&((bm_input_ahead *)ctx)->stop);
}

/* May another block of this source be filled? OWN_BLOCKS are reserved for the reader's source. */
static bool has_free_blocks(const bm_input_ahead *ahead, size_t source)
{
    /* members need a block for the stored bytes, and one for the unpacked bytes */
    const size_t kept = source == ahead->source ? 0 : OWN_BLOCKS,
                 wanted = ahead->plan.block_bytes == MEMBER_BLOCK ? 2 : 1;
    return ahead->n_used + kept + wanted <= ahead->n_most;
}

/* Open the next source in a free slot; NULL: no source, slot or block is free. */
static slot *open_slot(bm_input_ahead *ahead)
{
    slot *free = NULL;
    while (ahead->next < ahead->set->n_sources && !is_open_to(ahead->set, ahead->next))
        ahead->next++;
    for (size_t i = 0; i < ahead->plan.slots; i++)
        if (ahead->slots[i].state == SLOT_FREE)
            free = &ahead->slots[i];
    if (free == NULL || ahead->next >= ahead->set->n_sources ||
        !has_free_blocks(ahead, ahead->next))
        return NULL;
    *free = (slot){
        .bytes = free->bytes, .packed = free->packed, .source = ahead->next++, .state = SLOT_OPEN};
    return free;
}

/* Should the reader itself unpack this stream? It should if the reader has come to this source, if
 * other threads only help, and if none of them is busy with the stream. */
static bool is_readers(const bm_input_ahead *ahead, const slot *p)
{
    return ahead->helped && p->source == ahead->source && p->state == SLOT_OPEN && !p->busy &&
           !p->members;
}

/* Can a thread other than the reader work on this slot? */
static bool has_work(const bm_input_ahead *ahead, const slot *p)
{
    return p->state == SLOT_OPEN && !p->busy && has_free_blocks(ahead, p->source) &&
           !is_readers(ahead, p);
}

/* Find a slot to work on: the first slot with work, in the order of the inputs, else a newly opened
 * slot. NULL: there is no work. */
static slot *find_work(bm_input_ahead *ahead)
{
    slot *found = NULL;
    if (ahead->paused)
        return NULL;
    for (size_t i = 0; i < ahead->plan.slots; i++) {
        slot *p = &ahead->slots[i];
        if (has_work(ahead, p) && (found == NULL || p->source < found->source))
            found = p;
    }
    return found != NULL ? found : open_slot(ahead);
}

static bm_members *unpacker_of(bm_input_ahead *ahead, unpackers *u, bm_compression kind)
{
    if (u->of[kind] == NULL && bm_members_open(kind, &u->of[kind], NULL) != BM_OK)
        atomic_store(&ahead->without[kind], true);
    return u->of[kind];
}

static bm_compression kind_of(const bm_input_ahead *ahead, const slot *p)
{
    return bm_input_set_source(ahead->set, p->source)->compression;
}

/* --- without the lock --- */

/* Begin to read the source of a slot. `callbacks`: for the calling thread. */
static bm_status begin_slot(bm_input_ahead *ahead, slot *p, const bm_callbacks *callbacks)
{
    const bm_compression kind = kind_of(ahead, p);
    if (p->bytes == NULL)
        BM_TRY(bm_input_bytes_open(ahead->set, &p->bytes, NULL));
    bm_input_bytes_set_apart(p->bytes, callbacks, ahead->plan.window_log);
    p->begun = true;
    if (p->packed != NULL)
        p->packed->len = 0;
    p->members = p->packed != NULL && has_members(kind) && !atomic_load(&ahead->without[kind]);
    return bm_input_bytes_begin(p->bytes, p->source, NULL);
}

/* Fill the block up to SMALL_BLOCK bytes, or to the end of the source. Larger blocks would cost
 * more time in page faults than they save when blocks are passed to the reader. */
static slot_state fill_block(slot *p, block *b)
{
    size_t got = 1;
    while (got > 0 && b->len < SMALL_BLOCK) {
        if (bm_input_bytes_read(p->bytes, b->data + b->len, SMALL_BLOCK - b->len, &got, NULL) !=
            BM_OK)
            return SLOT_FAILED;
        b->len += got;
    }
    b->stored = bm_input_bytes_in_source(p->bytes);
    return got > 0 ? SLOT_OPEN : SLOT_ENDED;
}

/* Read until members can be cut off p->packed; *cut is true if they can. If the first member of the
 * source cannot be cut, the source is read as a stream from now on. If a later member cannot be
 * cut, the slot fails. */
static slot_state read_members(const bm_input_ahead *ahead, slot *p, bool *cut)
{
    const size_t most = ahead->plan.block_bytes;
    block *in = p->packed;
    for (;;) {
        if (p->packed_end && in->len == 0)
            return SLOT_ENDED;
        const bm_members_found found = bm_members_cut_off(
            kind_of(ahead, p), (bm_str){in->data, in->len}, p->packed_end, most, &p->cut);
        *cut = found == BM_MEMBERS_CUT;
        if (*cut)
            return SLOT_OPEN;
        if (found == BM_MEMBERS_NONE || in->len == most) {
            p->members = false;
            return p->cut_bytes == 0 && bm_input_bytes_begin(p->bytes, p->source, NULL) == BM_OK
                       ? SLOT_OPEN
                       : SLOT_FAILED;
        }
        size_t got;
        if (bm_input_bytes_read_packed(p->bytes, in->data + in->len,
                                       (size_t)least(most - in->len, PACKED_STEP), &got,
                                       NULL) != BM_OK)
            return SLOT_FAILED;
        in->len += got;
        p->packed_end = got == 0;
    }
}

/* Cut members off p->packed, and return the block that has them. NULL: there are none. `rest`
 * receives the bytes after the members, and becomes p->packed. */
static block *cut_members(const bm_input_ahead *ahead, slot *p, block *rest, slot_state *state)
{
    bool cut = false;
    *state = read_members(ahead, p, &cut);
    if (!cut)
        return NULL;
    block *in = p->packed;
    rest->len = in->len - p->cut.stored;
    memcpy(rest->data, in->data + p->cut.stored, rest->len);
    in->len = p->cut.stored;
    p->cut_bytes += p->cut.stored;
    p->packed = rest;
    return in;
}

/* --- with the lock --- */

/* Wake the reader if it is waiting for this slot. */
static void wake_reader(bm_input_ahead *ahead, const slot *p)
{
    if (ahead->awaited == p)
        pthread_cond_signal(&ahead->moved);
}

/* Unpack the members in `in` to `b`, which is already in the list of its slot. Releases the lock
 * while unpacking. */
static void unpack_members(bm_input_ahead *ahead, slot *p, unpackers *u, block *in, block *b)
{
    p->n_filling++;
    pthread_mutex_unlock(&ahead->lock);
    bm_members *members = unpacker_of(ahead, u, kind_of(ahead, p));
    const bool right =
        members != NULL && bm_members_run(members, (bm_str){in->data, in->len}, b->data, b->len);
    pthread_mutex_lock(&ahead->lock);
    p->n_filling--;
    b->filling = false;
    b->failed = !right;
    release_block(ahead, in);
}

static void add_packed(bm_input_ahead *ahead, slot *p)
{
    if (ahead->plan.block_bytes == MEMBER_BLOCK && p->packed == NULL && !p->begun &&
        (p->packed = acquire_block(ahead)) != NULL)
        ahead->n_used--;
}

/* Do one step of work on a slot: fill a block of a stream, or cut members off and unpack them. The
 * lock is held, but released during the work. */
static void work_on(bm_input_ahead *ahead, slot *p, unpackers *u)
{
    const bool pairs = ahead->plan.block_bytes == MEMBER_BLOCK;
    block *b = acquire_block(ahead), *rest = pairs && b != NULL ? acquire_block(ahead) : NULL,
          *in = NULL;
    slot_state state = SLOT_FAILED;
    p->busy = true;
    add_packed(ahead, p);
    pthread_mutex_unlock(&ahead->lock);
    if (b != NULL && (!pairs || rest != NULL) &&
        (p->begun || begin_slot(ahead, p, &ahead->callbacks) == BM_OK)) {
        state = SLOT_OPEN;
        if (p->members)
            in = cut_members(ahead, p, rest, &state);
        if (state == SLOT_OPEN && !p->members)
            state = fill_block(p, b);
    }
    pthread_mutex_lock(&ahead->lock);
    p->busy = false;
    if (p->state == SLOT_OPEN) /* otherwise the reader has released the slot */
        p->state = state;
    if (rest != NULL && in == NULL)
        release_block(ahead, rest);
    if (in != NULL) { /* all members before `in` are unpacked, or are being unpacked */
        b->len = p->cut.plain;
        b->stored = p->cut_bytes;
        b->filling = true;
        p->cut = (bm_members_cut){0};
        put_block(p, b);
        if (ahead->n_asleep > 0) /* another thread can cut the next members */
            pthread_cond_signal(&ahead->work);
        unpack_members(ahead, p, u, in, b);
    } else if (b != NULL && (b->len == 0 || p->state == SLOT_FAILED)) {
        release_block(ahead, b); /* the reader will read the source again and report the error */
    } else if (b != NULL) {
        put_block(p, b);
    }
    wake_reader(ahead, p);
}

/* Do one step of work. Returns false if there is none, or no memory for decoders. */
static bool work(bm_input_ahead *ahead)
{
    slot *p = find_work(ahead);
    unpackers *u = ahead->unpackers;
    if (p == NULL || (u == NULL && (u = bm_alloc_zero(1, sizeof *u)) == NULL))
        return false;
    ahead->unpackers = u->next;
    work_on(ahead, p, u);
    u->next = ahead->unpackers;
    ahead->unpackers = u;
    return true;
}

static void *run_thread(void *arg)
{
    bm_input_ahead *ahead = arg;
    pthread_mutex_lock(&ahead->lock);
    while (!atomic_load(&ahead->stop)) {
        if (work(ahead))
            continue;
        ahead->n_asleep++;
        pthread_cond_wait(&ahead->work, &ahead->lock);
        ahead->n_asleep--;
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

bool bm_input_ahead_help(bm_input_ahead *ahead)
{
    if (ahead->plan.threads == 0)
        return false;
    pthread_mutex_lock(&ahead->lock);
    const bool helped = work(ahead);
    pthread_mutex_unlock(&ahead->lock);
    return helped;
}

/* --- open and close --- */

bm_status bm_input_ahead_open(bm_input_set *set, bm_input_ahead **out, bm_error *err)
{
    bm_input_ahead *ahead = NULL;
    BM_TRY(bm_new_zero(&ahead, 1, err));
    ahead->set = set;
    ahead->plan = set->ahead;
    ahead->source = NOWHERE;
    ahead->n_most =
        (size_t)least(OWN_BLOCKS + 3 * (uint64_t)ahead->plan.threads, ahead->plan.blocks);
    ahead->callbacks = (bm_callbacks){.cancelled = is_stopped, .ctx = ahead};
    atomic_init(&ahead->stop, false);
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ahead->moved, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_cond_init(&ahead->work, NULL);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_input_bytes_open(set, &ahead->own, err));
    BM_TRY_OUT(bm_new_zero(&ahead->slots, ahead->plan.slots, err));
    status = bm_new_zero(&ahead->threads, ahead->plan.threads, err);
out:
    if (status != BM_OK) {
        bm_input_ahead_close(ahead);
        return status;
    }
    *out = ahead;
    return BM_OK;
}

void bm_input_ahead_set_helped(bm_input_ahead *ahead)
{
    ahead->helped = true;
}

static void free_blocks(block **list)
{
    while (*list != NULL) {
        block *b = *list;
        *list = b->next;
        bm_free(b);
    }
}

static void close_slot(slot *p)
{
    bm_free(p->packed);
    p->packed = NULL;
    bm_input_bytes_close(p->bytes);
    p->bytes = NULL;
}

void bm_input_ahead_close(bm_input_ahead *ahead)
{
    if (ahead == NULL)
        return;
    pthread_mutex_lock(&ahead->lock);
    atomic_store(&ahead->stop, true);
    pthread_cond_broadcast(&ahead->work);
    pthread_mutex_unlock(&ahead->lock);
    for (size_t i = 0; i < ahead->n_threads; i++)
        pthread_join(ahead->threads[i], NULL);
    for (size_t i = 0; ahead->slots != NULL && i < ahead->plan.slots; i++) {
        close_slot(&ahead->slots[i]);
        free_blocks(&ahead->slots[i].first);
    }
    free_blocks(&ahead->blocks);
    while (ahead->unpackers != NULL) {
        unpackers *u = ahead->unpackers;
        ahead->unpackers = u->next;
        for (size_t i = 0; i < BM_COMPRESSIONS; i++)
            bm_members_close(u->of[i]);
        bm_free(u);
    }
    bm_input_bytes_close(ahead->own);
    pthread_cond_destroy(&ahead->work);
    pthread_cond_destroy(&ahead->moved);
    pthread_mutex_destroy(&ahead->lock);
    bm_free(ahead->slots);
    bm_free(ahead->threads);
    bm_free(ahead);
}

/* --- the reader --- */

/* Wait until another thread reports progress on the slot. False: a short time passed without
 * progress. The lock is held. */
static bool await(bm_input_ahead *ahead, const slot *p)
{
    const struct timespec until = bm_clock_in(CLOCK_MONOTONIC, WAIT_SECONDS);
    ahead->awaited = p;
    const int rc = pthread_cond_timedwait(&ahead->moved, &ahead->lock, &until);
    ahead->awaited = NULL;
    return rc == 0;
}

static bool is_awaited(const bm_input_ahead *ahead, const slot *p)
{
    return p->first == NULL ? p->state == SLOT_OPEN && !is_readers(ahead, p) : p->first->filling;
}

/* Allow more blocks. Called when the reader has to wait, or has to unpack a block that other
 * threads could have unpacked. */
static void grow(bm_input_ahead *ahead)
{
    ahead->n_most = (size_t)least(ahead->n_most + ahead->plan.threads, ahead->plan.blocks);
}

/* Wait until the slot has a block, or will not get one. The lock is held. */
static bm_status wait_block(bm_input_ahead *ahead, const slot *p, bm_error *err)
{
    bm_status status = BM_OK;
    if (is_awaited(ahead, p)) {
        grow(ahead);
        if (ahead->n_asleep > 0)
            pthread_cond_broadcast(&ahead->work);
    }
    while (status == BM_OK && is_awaited(ahead, p)) {
        if (!(ahead->helped && work(ahead)) && await(ahead, p))
            continue;
        pthread_mutex_unlock(&ahead->lock);
        status = bm_check_cancelled(ahead->set->callbacks, err);
        pthread_mutex_lock(&ahead->lock);
    }
    return status;
}

/* Free the slot and drop its blocks; the lock is held. */
static void release_slot(bm_input_ahead *ahead, slot *p)
{
    p->state = SLOT_FAILED; /* keeps other threads away from the slot */
    while (p->busy || p->n_filling > 0)
        (void)await(ahead, p);
    while (p->first != NULL)
        drop_first(ahead, p);
    p->state = SLOT_FREE;
    if (ahead->n_asleep > 0)
        pthread_cond_signal(&ahead->work);
}

/* Called with the lock held. */
static void start_threads(bm_input_ahead *ahead)
{
    while (ahead->n_threads < ahead->plan.threads &&
           bm_thread_start(&ahead->threads[ahead->n_threads], run_thread, ahead) == 0)
        ahead->n_threads++;
    ahead->plan.threads = (uint32_t)ahead->n_threads; /* so that no more threads are started */
}

/* Get the slot of the source that the reader begins. NULL: the reader uses `own`. Frees the slots
 * of earlier sources. The lock is held. */
static slot *enter(bm_input_ahead *ahead, size_t source)
{
    slot *found = NULL;
    for (size_t i = 0; i < ahead->plan.slots; i++) {
        slot *p = &ahead->slots[i];
        if (p->state != SLOT_FREE && p->source == source)
            found = p;
        else if (p->state != SLOT_FREE && p->source < source)
            release_slot(ahead, p);
    }
    ahead->source = source;
    ahead->paused = false;
    const size_t next = ahead->next > source ? ahead->next : source + 1;
    if (found == NULL && is_open_to(ahead->set, source)) {
        ahead->next = source;
        found = open_slot(ahead);
    }
    ahead->next = next;
    return found;
}

/* Read the current source again with `own`, and skip the bytes that the slot has delivered. */
static bm_status read_again(bm_input_ahead *ahead, bm_error *err)
{
    char dropped[4096];
    uint64_t left = ahead->now->given;
    pthread_mutex_lock(&ahead->lock);
    release_slot(ahead, ahead->now);
    pthread_mutex_unlock(&ahead->lock);
    ahead->now = NULL;
    BM_TRY(bm_input_bytes_begin(ahead->own, ahead->source, err));
    while (left > 0) {
        size_t got;
        BM_TRY(bm_input_bytes_read(ahead->own, dropped, (size_t)least(left, sizeof dropped), &got,
                                   err));
        if (got == 0)
            return bm_fail_at(err, BM_ERR_INPUT,
                              bm_input_set_source(ahead->set, ahead->source)->name, 0,
                              "the file changed while the job read it");
        left -= got;
    }
    return BM_OK;
}

/* Let the reader begin to read a slot's source itself. If that fails, the slot fails. The lock is
 * held, but released while the source is read. */
static void begin_own(bm_input_ahead *ahead, slot *p)
{
    add_packed(ahead, p);
    p->busy = true;
    pthread_mutex_unlock(&ahead->lock);
    const bm_status status = begin_slot(ahead, p, ahead->set->callbacks);
    pthread_mutex_lock(&ahead->lock);
    p->busy = false;
    if (status != BM_OK)
        p->state = SLOT_FAILED;
}

bm_status bm_input_ahead_begin(bm_input_ahead *ahead, size_t source, bm_error *err)
{
    ahead->ended = false;
    if (ahead->plan.threads == 0)
        return bm_input_bytes_begin(ahead->own, source, err);
    bm_status status = BM_OK;
    pthread_mutex_lock(&ahead->lock);
    if (!ahead->helped && is_open_to(ahead->set, source))
        start_threads(ahead);
    slot *p = ahead->now = enter(ahead, source);
    if (p != NULL)
        status = wait_block(ahead, p, err);
    if (p != NULL && !p->begun && is_readers(ahead, p))
        begin_own(ahead, p);
    const bool again = p != NULL && status == BM_OK && p->first == NULL && p->state == SLOT_FAILED;
    pthread_mutex_unlock(&ahead->lock);
    if (status != BM_OK)
        return status;
    if (again)
        return read_again(ahead, err);
    return p != NULL ? BM_OK : bm_input_bytes_begin(ahead->own, source, err);
}

/* Called when the reader has read the whole source of its slot: record the digest, and free the
 * slot. */
static void end_slot(bm_input_ahead *ahead)
{
    bm_input_bytes_accept(ahead->now->bytes);
    ahead->done += bm_input_bytes_in_source(ahead->now->bytes);
    pthread_mutex_lock(&ahead->lock);
    release_slot(ahead, ahead->now);
    pthread_mutex_unlock(&ahead->lock);
    ahead->now = NULL;
    ahead->ended = true;
}

/* Unpack more of the current source in the reader's own thread, with a decoder that no other thread
 * uses. Returns the new state of the slot. */
static slot_state read_own(const bm_input_ahead *ahead, slot *p, char *out, size_t cap, size_t *got)
{
    bm_input_bytes_set_apart(p->bytes, ahead->set->callbacks, ahead->plan.window_log);
    if (bm_input_bytes_read(p->bytes, out, cap, got, NULL) != BM_OK) {
        *got = 0;
        return SLOT_FAILED;
    }
    p->given += *got;
    p->stored = bm_input_bytes_in_source(p->bytes);
    return *got > 0 ? SLOT_OPEN : SLOT_ENDED;
}

bm_status bm_input_ahead_read(bm_input_ahead *ahead, char *out, size_t cap, size_t *got,
                              bm_error *err)
{
    slot *p = ahead->now;
    *got = 0;
    if (ahead->ended)
        return BM_OK;
    if (p == NULL)
        return bm_input_bytes_read(ahead->own, out, cap, got, err);
    BM_TRY(bm_check_cancelled(ahead->set->callbacks, err));
    pthread_mutex_lock(&ahead->lock);
    bm_status status = wait_block(ahead, p, err);
    while (status == BM_OK && p->first != NULL && p->first->len == 0 && !p->first->failed) {
        drop_first(ahead, p); /* members without content */
        status = wait_block(ahead, p, err);
    }
    block *b = p->first;
    const bool own = b == NULL && is_readers(ahead, p);
    slot_state state = p->state;
    pthread_mutex_unlock(&ahead->lock);
    if (status != BM_OK)
        return status;
    if (own) {
        state = read_own(ahead, p, out, cap, got);
        if (*got > 0)
            return BM_OK;
    }
    if (b == NULL && state == SLOT_ENDED) {
        end_slot(ahead);
        return BM_OK;
    }
    if (b == NULL || b->failed) {
        BM_TRY(read_again(ahead, err));
        return bm_input_bytes_read(ahead->own, out, cap, got, err);
    }
    *got = (size_t)least(b->len - b->pos, cap);
    memcpy(out, b->data + b->pos, *got);
    b->pos += *got;
    p->given += *got;
    p->stored = b->stored;
    if (b->pos < b->len)
        return BM_OK;
    pthread_mutex_lock(&ahead->lock);
    drop_first(ahead, p);
    if (p->first == NULL && is_readers(ahead, p))
        grow(ahead);
    pthread_mutex_unlock(&ahead->lock);
    return BM_OK;
}

bool bm_input_ahead_is_broken(const bm_input_ahead *ahead)
{
    return ahead->now == NULL && bm_input_bytes_is_broken(ahead->own);
}

bm_status bm_input_ahead_pass_over(bm_input_ahead *ahead, bm_error *err)
{
    return bm_input_bytes_pass_over(ahead->own, err);
}

const bm_stored_file *bm_input_ahead_file(const bm_input_ahead *ahead)
{
    return ahead->now == NULL ? bm_input_bytes_file(ahead->own) : NULL;
}

uint64_t bm_input_ahead_place(const bm_input_ahead *ahead)
{
    return bm_input_bytes_place(ahead->own);
}

void bm_input_ahead_pass(bm_input_ahead *ahead, const char *data, size_t n)
{
    bm_input_bytes_pass(ahead->own, data, n);
}

bm_status bm_input_ahead_pass_source(bm_input_ahead *ahead, size_t source, bm_hash128 digest,
                                     uint64_t n, bm_error *err)
{
    return bm_input_bytes_pass_source(ahead->own, source, digest, n, err);
}

uint64_t bm_input_ahead_stored(const bm_input_ahead *ahead)
{
    return bm_input_bytes_stored(ahead->own) + ahead->done +
           (ahead->now != NULL ? ahead->now->stored : 0);
}

bm_status bm_input_ahead_yield(bm_input_ahead *ahead, uint64_t record_bytes, bm_error *err)
{
    if (ahead->paused || ahead->plan.threads == 0 || record_bytes <= ahead->plan.bytes / LONG_PART)
        return BM_OK;
    pthread_mutex_lock(&ahead->lock);
    ahead->paused = true;
    for (size_t i = 0; i < ahead->plan.slots; i++) {
        slot *p = &ahead->slots[i];
        if (p == ahead->now)
            continue;
        if (p->state != SLOT_FREE) {
            ahead->next = (size_t)least(ahead->next, p->source);
            release_slot(ahead, p);
        }
        close_slot(p);
    }
    pthread_mutex_unlock(&ahead->lock);
    bm_status status = BM_OK;
    slot *p = ahead->now;
    if (p != NULL) {
        status = read_again(ahead, err);
        close_slot(p);
    }
    free_blocks(&ahead->blocks); /* no other thread uses the blocks now */
    return status;
}
