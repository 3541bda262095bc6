/* signer_device.c -- the one device of a signer.
 *
 * `auto` takes the first GPU and falls back to the CPU when that cannot be opened; any other word
 * must name exactly one device. A device that fails later is an error: there is no one here to sign
 * its batches again.
 *
 * Tests: tests/unit/inmem/test_signer.c, tests/unit/inmem/test_signer_device.c */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "devices/device_pick.h"
#include "inmem/signer_state.h"

bm_status bm_signer_device_open(const bm_signer_options *options, bm_signer *signer, bm_error *err)
{
    bm_device_options device = options->device;
    if (device.device == NULL)
        device.device = "cpu";
    const char *words = device.device;
    const bool automatic = words[0] == '\0' || strcasecmp(words, "auto") == 0;
    const bm_callbacks callbacks = bm_meter_callbacks(&signer->meter);
    bm_device_pick pick;
    BM_TRY(bm_device_pick_open(&device, &callbacks, &pick, err));
    if (pick.broken)
        bm_meter_log(&signer->meter, BM_LOG_WARNING, "%s", pick.why);
    bm_status status = BM_OK;
    if (pick.n != 1 && !automatic)
        status = bm_fail_field(err, "device", "'%s' names %zu devices (a signer takes one)", words,
                               pick.n);
    pick.n = 1;
    const bm_device_settings settings = bm_device_settings_of(&options->device);
    bm_device_set_cfg cfg = {.pick = &pick,
                             .sketch = options->sketch,
                             .bands = options->bands,
                             .rows = options->rows,
                             .threads = signer->info.threads,
                             .cpu = options->device.cpu,
                             .cache_dir = options->device.cache_dir,
                             .settings = &settings,
                             .meter = &signer->meter};
    if (status == BM_OK)
        status = bm_device_set_open(&cfg, &signer->devices, err);
    bm_device_pick_reset(&pick);
    if (status != BM_OK)
        return status;
    const bm_device_set *devices = &signer->devices;
    signer->backend =
        devices->n_device_workers > 0 ? devices->device_workers[0].backend : devices->cpu;
    const bm_device_info *info = &signer->backend->info;
    snprintf(signer->info.device, sizeof signer->info.device, "%s", info->spec);
    snprintf(signer->info.device_name, sizeof signer->info.device_name, "%s", info->name);
    return BM_OK;
}

bm_status bm_signer_ring_init(bm_signer *signer, bm_error *err)
{
    bm_signer_ring *ring = &signer->ring;
    ring->in_flight = bm_alloc(signer->n_slots, sizeof(bm_signer_slot *));
    ring->spare = bm_alloc(signer->n_slots, sizeof(bm_signer_slot *));
    if (ring->in_flight == NULL || ring->spare == NULL)
        return bm_fail_nomem(err, signer->n_slots * sizeof(bm_signer_slot *));
    ring->depth = signer->n_slots - signer->info.threads;
    for (size_t i = signer->info.threads; i < signer->n_slots; i++)
        ring->spare[ring->n_spare++] = &signer->slots[i];
    return BM_OK;
}

void bm_signer_ring_reset(bm_signer_ring *ring)
{
    bm_free(ring->in_flight);
    bm_free(ring->spare);
}

/* Under the lock, or alone. A sample of what came back is signed again here (device_set.h). */
static bm_status wait_for_oldest(bm_signer *signer, bm_error *err)
{
    bm_signer_ring *ring = &signer->ring;
    bm_signer_slot *slot = ring->in_flight[ring->oldest];
    ring->oldest = (ring->oldest + 1) % signer->n_slots;
    ring->n_in_flight--;
    ring->spare[ring->n_spare++] = slot;
    BM_TRY(signer->backend->ops->wait(signer->backend, &slot->task, err));
    return bm_device_set_check(&signer->devices, &signer->devices.device_workers[0], &slot->task,
                               err);
}

static bm_status submit(bm_signer *signer, bm_signer_thread *thread, bm_error *err)
{
    bm_signer_ring *ring = &signer->ring;
    if (ring->n_in_flight == ring->depth)
        BM_TRY(wait_for_oldest(signer, err));
    BM_TRY(signer->backend->ops->submit(signer->backend, &thread->slot->task, err));
    ring->in_flight[(ring->oldest + ring->n_in_flight++) % signer->n_slots] = thread->slot;
    thread->slot = ring->spare[--ring->n_spare];
    return BM_OK;
}

bm_status bm_signer_hand_over(bm_signer *signer, bm_signer_thread *thread, bm_error *err)
{
    bm_backend *backend = signer->backend;
    bm_status status;
    if (backend->parallel) {
        status = backend->ops->submit(backend, &thread->slot->task, err);
        return status == BM_OK ? backend->ops->wait(backend, &thread->slot->task, err) : status;
    }
    pthread_mutex_lock(&signer->ring.lock);
    if (signer->failed) /* the thread that saw it has the error */
        status = bm_fail(err, BM_ERR_DEVICE, "the signer's device failed");
    else
        status = submit(signer, thread, err);
    signer->failed = signer->failed || (status != BM_OK && status != BM_ERR_NOMEM);
    pthread_mutex_unlock(&signer->ring.lock);
    return status;
}

bm_status bm_signer_settle(bm_signer *signer, bool failed, bm_error *err)
{
    bm_signer_ring *ring = &signer->ring;
    bm_status status = BM_OK;
    if (signer->backend->parallel)
        return BM_OK;
    while (!failed && ring->n_in_flight > 0)
        BM_TRY_OUT(wait_for_oldest(signer, err));
    if (!failed)
        return BM_OK;
out:;
    bm_status drained = signer->backend->ops->drain(signer->backend, NULL);
    signer->failed = signer->failed || drained != BM_OK || status != BM_OK;
    while (ring->n_in_flight > 0) {
        ring->n_in_flight--;
        ring->spare[ring->n_spare++] = ring->in_flight[ring->oldest];
        ring->oldest = (ring->oldest + 1) % signer->n_slots;
    }
    return status;
}
