/* signer_tasks.c -- calls of a signer, one after another in the order in which they came.
 *
 * Every call takes a number. One that its maker waits for (bm_signer_sign) is done on the maker's
 * thread when its turn comes; what was submitted is done by a thread of the signer's, which is
 * started by the first of these. Tasks lie in the signer: submitting allocates nothing.
 *
 * Tests: tests/unit/inmem/test_signer_tasks.c, tests/race/race_inmem.c */
#include "base/error.h"
#include "base/thread.h"
#include "inmem/signer_state.h"

void bm_signer_tasks_init(bm_signer_tasks *tasks)
{
    pthread_mutex_init(&tasks->lock, NULL);
    pthread_cond_init(&tasks->changed, NULL);
}

bm_status bm_signer_do(bm_signer *signer, const bm_signer_call *call, bm_error *err)
{
    bm_signer_tasks *tasks = &signer->tasks;
    pthread_mutex_lock(&tasks->lock);
    const uint64_t turn = tasks->next_turn++;
    while (tasks->turn != turn)
        pthread_cond_wait(&tasks->changed, &tasks->lock);
    pthread_mutex_unlock(&tasks->lock);
    bm_status status = bm_signer_work(signer, call, err);
    pthread_mutex_lock(&tasks->lock);
    tasks->turn++;
    pthread_cond_broadcast(&tasks->changed);
    pthread_mutex_unlock(&tasks->lock);
    return status;
}

/* --- what was submitted --- */

/* Under the lock; NULL: none. */
static bm_signer_task *find(bm_signer_tasks *tasks, bm_task_state state, uint64_t turn)
{
    for (size_t i = 0; i < BM_SIGNER_TASKS_MAX; i++)
        if (tasks->tasks[i].state == state && tasks->tasks[i].turn == turn)
            return &tasks->tasks[i];
    return NULL;
}

static void *do_tasks(void *arg)
{
    bm_signer *signer = arg;
    bm_signer_tasks *tasks = &signer->tasks;
    pthread_mutex_lock(&tasks->lock);
    while (!tasks->closing) {
        bm_signer_task *task = find(tasks, BM_TASK_WAITING, tasks->turn);
        if (task == NULL) {
            pthread_cond_wait(&tasks->changed, &tasks->lock);
            continue;
        }
        pthread_mutex_unlock(&tasks->lock);
        bm_status status = bm_signer_work(signer, &task->call, &task->error);
        pthread_mutex_lock(&tasks->lock);
        task->status = status;
        task->state = BM_TASK_DONE;
        tasks->turn++;
        pthread_cond_broadcast(&tasks->changed);
    }
    pthread_mutex_unlock(&tasks->lock);
    return NULL;
}

/* Under the lock. */
static bm_status start(bm_signer *signer, bm_error *err)
{
    bm_signer_tasks *tasks = &signer->tasks;
    if (tasks->started)
        return BM_OK;
    int rc = bm_thread_start(&tasks->thread, do_tasks, signer);
    tasks->started = rc == 0;
    return rc == 0 ? BM_OK : bm_fail_errno(err, rc, NULL, "cannot start a thread");
}

bm_status bm_signer_enqueue(bm_signer *signer, const bm_signer_call *call, uint64_t *task,
                            bm_error *err)
{
    bm_signer_tasks *tasks = &signer->tasks;
    bm_signer_task *place = NULL;
    pthread_mutex_lock(&tasks->lock);
    bm_status status = BM_OK;
    BM_TRY_OUT(start(signer, err));
    for (size_t i = 0; place == NULL && i < BM_SIGNER_TASKS_MAX; i++)
        place = tasks->tasks[i].state == BM_TASK_FREE ? &tasks->tasks[i] : NULL;
    if (place == NULL)
        BM_TRY_OUT(bm_fail_field(err, "task",
                                 "%u tasks were submitted and not waited for (at most "
                                 "%u)",
                                 BM_SIGNER_TASKS_MAX, BM_SIGNER_TASKS_MAX));
    *place = (bm_signer_task){.state = BM_TASK_WAITING, .turn = tasks->next_turn++, .call = *call};
    *task = place->turn;
    pthread_cond_broadcast(&tasks->changed);
out:
    pthread_mutex_unlock(&tasks->lock);
    return status;
}

bm_status bm_signer_wait(bm_signer *signer, uint64_t task, bm_error *err)
{
    if (signer == NULL)
        return bm_fail_field(err, "signer", "no signer given");
    bm_signer_tasks *tasks = &signer->tasks;
    bm_signer_task *place;
    pthread_mutex_lock(&tasks->lock);
    while ((place = find(tasks, BM_TASK_DONE, task)) == NULL &&
           find(tasks, BM_TASK_WAITING, task) != NULL)
        pthread_cond_wait(&tasks->changed, &tasks->lock);
    bm_status status = BM_OK;
    if (place == NULL) {
        status = bm_fail_field(err, "task",
                               "there is no task %llu (submitted, and not yet waited "
                               "for)",
                               (unsigned long long)task);
    } else {
        status = place->status;
        if (status != BM_OK && err != NULL)
            *err = place->error;
        place->state = BM_TASK_FREE;
    }
    pthread_mutex_unlock(&tasks->lock);
    return status;
}

void bm_signer_tasks_reset(bm_signer *signer)
{
    bm_signer_tasks *tasks = &signer->tasks;
    pthread_mutex_lock(&tasks->lock);
    tasks->closing = true;
    pthread_cond_broadcast(&tasks->changed);
    pthread_mutex_unlock(&tasks->lock);
    if (tasks->started)
        pthread_join(tasks->thread, NULL);
    pthread_cond_destroy(&tasks->changed);
    pthread_mutex_destroy(&tasks->lock);
}
