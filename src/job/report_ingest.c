/* report_ingest.c -- busy and waiting seconds, and the stage that bounds the ingest. */
#include "job/report_ingest.h"

void bm_report_ingest(bm_json *json, const bm_ingest_times *times)
{
    const struct {
        const char *name;
        double seconds;
    } rows[] = {
        {"elapsed", times->elapsed}, {"read", times->read},        {"text", times->text},
        {"sign", times->sign},       {"device", times->device},    {"deliver", times->deliver},
        {"put", times->put},         {"worker_wait", times->wait}, {"device_idle", times->idle}};
    if (times->workers == 0)
        return;
    bm_json_key(json, "flow");
    bm_json_begin_object(json);
    bm_json_key_text(json, "bottleneck", bm_ingest_bottleneck(times));
    bm_json_key_uint(json, "workers", times->workers);
    bm_json_key_uint(json, "devices", times->device_workers);
    bm_json_key(json, "thread_seconds");
    bm_json_begin_object(json);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        bm_json_key_double(json, rows[i].name, rows[i].seconds);
    bm_json_end_object(json);
    bm_json_end_object(json);
}

static void write_trial(bm_json *json, const bm_text_offload *path)
{
    const struct {
        const char *name;
        double rate;
    } rows[] = {{"text", path->text_rate},
                {"text_host", path->host_text_rate},
                {"text_device", path->device_text_rate},
                {"hashes", path->hash_rate},
                {"hashes_host", path->host_hash_rate},
                {"hashes_device", path->device_hash_rate}};
    bm_json_key(json, "trial_bytes_per_second");
    bm_json_begin_object(json);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        bm_json_key_double(json, rows[i].name, rows[i].rate);
    bm_json_end_object(json);
}

void bm_report_text_offload(bm_json *json, const bm_text_offload *path)
{
    if (!path->able && !path->own_processors)
        return;
    bm_json_key(json, "device_input");
    bm_json_begin_object(json);
    bm_json_key_text(json, "form", path->taken ? "text" : "hashes");
    if (path->own_processors)
        bm_json_key_text(json, "because", "the device is made of the host's own processors");
    if (path->measured)
        write_trial(json, path);
    bm_json_end_object(json);
}
