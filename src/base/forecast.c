/* forecast.c -- the arithmetic; see forecast.h.
 *
 * Let a unit of weight take u seconds, by the past; the step that runs has the weight w, has told
 * nothing for s seconds, and since then the share f within e seconds. Then
 *
 *     left = (1 - f) * ((1 - f) * (u * w - s) + e)
 *
 * which is the guess u * w - s at first, and for f near 1 what the pace of the step itself says,
 * e / f * (1 - f). Without a past it is the pace alone. */
#include "base/forecast.h"

#include <string.h>

void bm_forecast_plan(bm_forecast *f, const bm_forecast_step *steps, uint32_t n, double now_s)
{
    memset(f, 0, sizeof *f);
    f->n = n < BM_FORECAST_STEPS ? n : BM_FORECAST_STEPS;
    for (uint32_t i = 0; i < f->n; i++)
        f->steps[i] = steps[i];
    f->began_s = f->step_began_s = now_s;
    f->share = -1;
}

void bm_forecast_stage(bm_forecast *f, const char *stage, double now_s)
{
    uint32_t next = f->at;
    while (next < f->n && strcmp(f->steps[next].stage, stage) != 0)
        next++;
    if (next == f->n) { /* a part of the step that runs */
        const char *within = f->at > 0 ? f->steps[f->at - 1].within : NULL;
        f->counts = within != NULL && strcmp(within, stage) == 0;
        f->told_s = f->counts && f->share < 0 ? now_s : f->told_s;
        return;
    }
    if (f->at > 0) { /* steps that were passed over took no time, and tell nothing of the pace */
        f->past_s += now_s - f->step_began_s;
        f->past_weight += f->steps[f->at - 1].weight;
    }
    f->at = next + 1;
    f->step_began_s = f->told_s = now_s;
    f->share = -1;
    f->counts = f->steps[next].within == NULL;
}

/* Of the step that runs. Less than 0: not known. */
static double step_left(const bm_forecast *f, double now_s)
{
    const double elapsed = now_s - f->step_began_s, share = f->share;
    if (!(f->past_weight > 0 && f->past_s > 0))
        return share > 0 ? (1 - share) * elapsed / share : -1;
    const double guess = f->steps[f->at - 1].weight * f->past_s / f->past_weight;
    const double silent = share < 0 ? elapsed : f->told_s - f->step_began_s;
    const double left = guess > silent ? guess - silent : 0;
    return share < 0 ? left : (1 - share) * ((1 - share) * left + now_s - f->told_s);
}

/* Of the job. Less than 0: not known. */
static double seconds_left(const bm_forecast *f, double now_s)
{
    const double left = step_left(f, now_s);
    const double known = f->past_weight + f->steps[f->at - 1].weight;
    double later = 0;
    for (uint32_t i = f->at; i < f->n; i++)
        later += f->steps[i].weight;
    if (left < 0 || !(known > 0))
        return left;
    return left + later * (f->past_s + now_s - f->step_began_s + left) / known;
}

bm_forecast_view bm_forecast_look(bm_forecast *f, double share, double now_s)
{
    bm_forecast_view view = {.left_s = -1};
    if (f->n == 0)
        return view;
    view.n = f->n;
    view.number = f->at;
    view.elapsed_s = now_s - f->began_s;
    if (f->at > 0) {
        if (f->counts && share > f->share)
            f->share = share < 1 ? share : 1;
        view.left_s = seconds_left(f, now_s);
    }
    if (view.left_s >= 0 && view.elapsed_s > 0) {
        const double done = view.elapsed_s / (view.elapsed_s + view.left_s);
        f->shown = done > f->shown ? done : f->shown;
    }
    view.done = f->shown;
    return view;
}
