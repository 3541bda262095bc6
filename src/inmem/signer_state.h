/* signer_state.h -- what the parts of a signer share.
 *
 *     signer.c        open, close, options, the calls
 *     signer.c   one call's documents, on all threads
 *     signer.c batches on their way through a device that takes them from one thread
 *     signer.c  calls one after another, and those that were submitted
 */
#ifndef BM_INMEM_SIGNER_STATE_H
#define BM_INMEM_SIGNER_STATE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

#include <bandmill/sketch.h>

#include "model/backend.h"
#include "base/memory.h"
#include "base/meter.h"
#include "base/threads.h"
#include "devices/device_set.h"
#include "inmem/documents.h"
#include "text/set_shingler.h"

/* On cache lines of its own: it is written for every document. */
typedef struct bm_signer_slot {
    alignas(BM_ALIGNMENT) bm_shingle_batch batch;
    bm_sign_task task;
} bm_signer_slot;

/* What one thread has for itself, on cache lines of its own. */
typedef struct bm_signer_thread {
    alignas(BM_ALIGNMENT) bm_text_hasher hasher;
    bm_signer_slot *slot; /* being filled */
    bm_set_shingler sets; /* of bags that are given by hashes */
    uint64_t *scratch;    /* for counting distinct hashes */
    size_t cap_scratch;
} bm_signer_thread;

/* Slots of a backend that is not `parallel`. A thread that has filled its slot takes the lock,
 * hands it over and goes on with a free one; where as many are in flight as the backend likes, it
 * waits for the oldest first, and the other threads fill theirs meanwhile. */
typedef struct bm_signer_ring {
    pthread_mutex_t lock;
    bm_signer_slot **in_flight, **spare; /* room for all slots each */
    size_t depth, oldest, n_in_flight, n_spare;
} bm_signer_ring;

/* A call on its way. */
typedef struct bm_signer_call {
    bm_documents docs;
    bm_signer_out out;
    uint64_t work; /* of all documents */
} bm_signer_call;

typedef enum bm_task_state { BM_TASK_FREE, BM_TASK_WAITING, BM_TASK_DONE } bm_task_state;

typedef struct bm_signer_task {
    bm_task_state state;
    uint64_t turn;
    bm_signer_call call;
    bm_status status;
    bm_error error;
} bm_signer_task;

/* Calls take a number and wait for their turn. */
typedef struct bm_signer_tasks {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    uint64_t next_turn, turn; /* given out next; under way, or the next to be */
    bool closing, started;    /* `thread` was */
    pthread_t thread;         /* does what was submitted */
    bm_signer_task tasks[BM_SIGNER_TASKS_MAX];
} bm_signer_tasks;

struct bm_signer {
    bm_signer_info info;
    bm_sketch_options sketch;
    bm_meter meter;
    bm_pool *pool;
    bm_device_set devices;
    bm_backend *backend; /* of the one that signs */
    bm_signer_thread *threads;
    bm_signer_slot *slots; /* one a thread, and those in flight */
    size_t n_slots, batch_hashes, batch_docs;
    size_t keep_hashes; /* a slot that grew beyond is given back */
    bm_range_size text_range, hash_range;
    bm_signer_ring ring;
    bm_signer_tasks tasks;
    atomic_bool closing;
    bool failed; /* the device did */
    bool bag;    /* documents are bags, also those given by hashes */
};

/* Sign the documents of a call: one at a time. */
bm_status bm_signer_work(bm_signer *signer, const bm_signer_call *call, bm_error *err);

/* --- signer.c --- */
/* `device` is one of them, NULL: "cpu". */
bm_status bm_signer_device_open(const bm_signer_options *options, bm_signer *signer, bm_error *err);
bm_status bm_signer_ring_init(bm_signer *signer, bm_error *err);
void bm_signer_ring_reset(bm_signer_ring *ring);
/* Sign what is in the thread's slot; afterwards it has one that may be filled. */
bm_status bm_signer_hand_over(bm_signer *signer, bm_signer_thread *thread, bm_error *err);
/* Wait for all that is in flight, after an error (`failed`) by draining the device: then the
 * caller's arrays are nobody else's, or the signer has failed. */
bm_status bm_signer_settle(bm_signer *signer, bool failed, bm_error *err);

/* --- signer.c --- */
void bm_signer_tasks_init(bm_signer_tasks *tasks);
void bm_signer_tasks_reset(bm_signer *signer);
/* Do a call when its turn has come. */
bm_status bm_signer_do(bm_signer *signer, const bm_signer_call *call, bm_error *err);
/* Have it done by the signer's thread; *task is its number. */
bm_status bm_signer_enqueue(bm_signer *signer, const bm_signer_call *call, uint64_t *task,
                            bm_error *err);

#endif
