/* SPDX-License-Identifier: Apache-2.0 */
/* A team helps several callers at the same time, in turns. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "base/threads.h"
#include "tests/world/sized.h"
#include "tests/world/world_calls.h"

enum { PIECES = 50 };

/* --- turns --- */

typedef struct held {
    sem_t inside, go_on;
} held;

/* Blocks the only helper until the test lets it go on. */
static bool hold(void *ctx)
{
    held *h = ctx;
    sem_post(&h->inside);
    sem_wait(&h->go_on);
    return false;
}

typedef struct logged {
    char name;
    size_t left;
    char *log; /* the helper's, shared by all callers */
    sem_t *done;
} logged;

static bool log_piece(void *ctx)
{
    logged *l = ctx;
    const size_t at = strlen(l->log);
    l->log[at] = l->name;
    if (--l->left > 0)
        return true;
    sem_post(l->done);
    return false;
}

Test(team, a_helper_does_a_piece_of_each_callers_work_in_turn)
{
    char log[3 * PIECES + 1] = "";
    held h;
    sem_t done;
    bm_team_work holding, works[3];
    sem_init(&h.inside, 0, 0);
    sem_init(&h.go_on, 0, 0);
    sem_init(&done, 0, 0);
    bm_team *team = world_open(bm_team, 1);
    bm_team_begin(team, hold, &h, 1, &holding);
    sem_wait(&h.inside);
    logged of[3] = {
        {'a', PIECES, log, &done}, {'b', PIECES, log, &done}, {'c', PIECES / 2, log, &done}};
    for (size_t i = 0; i < 3; i++)
        bm_team_begin(team, log_piece, &of[i], 1, &works[i]);
    sem_post(&h.go_on);
    for (size_t i = 0; i < 3; i++)
        sem_wait(&done);
    bm_team_end(team, &holding);
    for (size_t i = 0; i < 3; i++)
        bm_team_end(team, &works[i]);
    size_t n[3] = {0, 0, 0};
    for (const char *c = log; *c != '\0'; c++) {
        n[*c - 'a']++;
        const size_t ahead = n[0] > n[1] ? n[0] - n[1] : n[1] - n[0];
        cr_assert_leq(ahead, 1, "%s", log);
        cr_assert(n[2] + 1 >= n[0] || n[2] == PIECES / 2, "%s", log);
    }
    cr_assert(n[0] == PIECES && n[1] == PIECES && n[2] == PIECES / 2);
    bm_team_close(team);
}

/* --- many callers --- */

typedef struct counted {
    bm_team *team;
    atomic_size_t next, done;
    size_t n;
    atomic_bool ended, late; /* `late`: a piece was done after the end */
} counted;

static bool count_piece(void *ctx)
{
    counted *c = ctx;
    if (atomic_fetch_add(&c->next, 1) >= c->n)
        return false;
    if (atomic_load(&c->ended))
        atomic_store(&c->late, true);
    atomic_fetch_add(&c->done, 1);
    return true;
}

static void *call_often(void *arg)
{
    bm_team *team = arg;
    for (size_t round = 0; round < sized(300, 50); round++) {
        counted c = {.team = team, .n = round % 40};
        bm_team_work work;
        bm_team_begin(team, count_piece, &c, c.n, &work);
        while (round % 3 != 0 && count_piece(&c))
            ;
        bm_team_end(team, &work);
        atomic_store(&c.ended, true);
        /* If the caller did not work itself, some pieces may be left undone. */
        if (atomic_load(&c.late) || atomic_load(&c.done) > c.n ||
            (round % 3 != 0 && atomic_load(&c.done) != c.n))
            return "wrong";
    }
    return NULL;
}

Test(team, any_number_of_callers_get_each_piece_done_once)
{
    enum { CALLERS = 5 };
    for (uint32_t helpers = 0; helpers < 4; helpers++) {
        pthread_t callers[CALLERS];
        bm_team *team = world_open(bm_team, helpers);
        for (size_t i = 0; i < CALLERS; i++)
            cr_assert_eq(pthread_create(&callers[i], NULL, call_often, team), 0);
        for (size_t i = 0; i < CALLERS; i++) {
            void *wrong;
            pthread_join(callers[i], &wrong);
            cr_assert_null(wrong);
        }
        bm_team_close(team);
    }
    bm_team_close(NULL);
}
