/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>

#include "base/threads.h"
#include "tests/world/world_calls.h"

#define N_ITEMS 20000u

static void *produce(void *arg)
{
    bm_queue *queue = arg;
    for (uintptr_t i = 1; i <= N_ITEMS; i++)
        if (!bm_queue_push(queue, (void *)i))
            break;
    return NULL;
}

Test(queue, two_producers_one_consumer_lose_nothing)
{
    pthread_t threads[2];
    bm_queue *queue = world_open(bm_queue, 3);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, produce, queue);
    uint64_t sum = 0;
    void *item;
    for (unsigned i = 0; i < 2 * N_ITEMS; i++) {
        cr_assert(bm_queue_pop(queue, 0, &item));
        sum += (uintptr_t)item;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(sum, (uint64_t)N_ITEMS * (N_ITEMS + 1));
    bm_queue_close(queue);
    cr_assert_not(bm_queue_pop(queue, 0, &item));
    bm_queue_free(queue);
}

Test(queue, items_come_out_in_order_and_a_closed_queue_empties)
{
    void *item;
    bm_queue *queue = world_open(bm_queue, 4);
    for (uintptr_t i = 1; i <= 4; i++)
        cr_assert(bm_queue_try_push(queue, (void *)i));
    cr_assert_not(bm_queue_try_push(queue, (void *)9), "a full queue takes no more");
    bm_queue_close(queue);
    cr_assert_not(bm_queue_push(queue, (void *)9), "nor does a closed one");
    for (uintptr_t i = 1; i <= 4; i++) {
        cr_assert(bm_queue_pop(queue, 0, &item));
        cr_assert_eq((uintptr_t)item, i);
    }
    cr_assert_not(bm_queue_try_pop(queue, 0, &item));
    bm_queue_free(queue);
}

Test(queue, an_item_for_one_waits_for_no_room_and_is_popped_by_that_one_alone)
{
    void *item;
    bm_queue *queue = world_open(bm_queue, 1);
    cr_assert(bm_queue_try_push(queue, (void *)1));
    for (uintptr_t i = 2; i <= 9; i++)
        cr_assert(bm_queue_push_for(queue, i % 2, (void *)i));
    cr_assert_not(bm_queue_try_push(queue, (void *)10), "of those for anybody there is room for 1");
    const uintptr_t of_one[] = {1, 3, 5, 7, 9}, of_zero[] = {2, 4, 6, 8};
    for (size_t i = 0; i < 5; i++) {
        cr_assert(bm_queue_pop(queue, 1, &item));
        cr_assert_eq((uintptr_t)item, of_one[i]);
    }
    cr_assert_not(bm_queue_try_pop(queue, 1, &item));
    cr_assert(bm_queue_try_push(queue, (void *)10), "that one has gone");
    bm_queue_close(queue);
    cr_assert_not(bm_queue_push_for(queue, 0, (void *)11));
    for (size_t i = 0; i < 4; i++) {
        cr_assert(bm_queue_pop(queue, 0, &item));
        cr_assert_eq((uintptr_t)item, of_zero[i]);
    }
    cr_assert(bm_queue_pop(queue, 1, &item));
    cr_assert_eq((uintptr_t)item, 10);
    cr_assert_not(bm_queue_pop(queue, 0, &item));
    bm_queue_free(queue);
}

static void *pop_one(void *arg)
{
    void *item;
    return bm_queue_pop(arg, 0, &item) ? arg : NULL;
}

Test(queue, an_abort_wakes_who_waits_and_leaves_what_is_inside)
{
    pthread_t thread;
    void *result, *item;
    bm_queue *queue = world_open(bm_queue, 2);
    pthread_create(&thread, NULL, pop_one, queue);
    bm_queue_abort(queue);
    pthread_join(thread, &result);
    cr_assert_null(result);
    bm_queue_free(queue);
    cr_assert_eq(bm_queue_open(2, &queue, NULL), BM_OK);
    cr_assert(bm_queue_push(queue, queue));
    bm_queue_abort(queue);
    cr_assert_not(bm_queue_pop(queue, 0, &item));
    cr_assert(bm_queue_drain(queue, &item));
    cr_assert_not(bm_queue_drain(queue, &item));
    bm_queue_free(queue);
}
