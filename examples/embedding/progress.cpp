// SPDX-License-Identifier: Apache-2.0
// progress.cpp -- a dedup job in C++17, with a meter, and cancelled from another thread.
//
//     progress INPUT OUTPUT              prints the counts of the job
//     progress INPUT OUTPUT --cancel     asks for the end once the job has begun: exit code 130
//
// Handles are owned by std::unique_ptr. Callbacks are plain functions: no exception may leave them.
#include <bandmill/bandmill.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace
{

struct Failure : std::runtime_error {
    explicit Failure(const bm_error &err) : std::runtime_error(text(err)), status(err.status)
    {
    }
    bm_status status;

  private:
    static std::string text(const bm_error &err)
    {
        char line[2200];
        bm_error_format(&err, line, sizeof line);
        return line;
    }
};

struct Free {
    void operator()(bm_summary *summary) const
    {
        bm_summary_free(summary);
    }
};
using Summary = std::unique_ptr<bm_summary, Free>;

class Watch
{
  public:
    // From any thread of the job, one call at a time.
    static void progress(void *ctx, const bm_progress *p)
    {
        auto *self = static_cast<Watch *>(ctx);
        std::fprintf(stderr, "\r%s %3.0f %%", p->stage, 100 * p->job_done);
        const std::lock_guard<std::mutex> lock(self->mutex_);
        self->begun_ = true;
        self->changed_.notify_all();
    }
    static bool cancelled(void *ctx)
    {
        return static_cast<Watch *>(ctx)->stop_.load();
    }
    // For the thread of a button: wait until there is something to cancel.
    void stop_once_begun()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return begun_; });
        stop_ = true;
    }
    // The job has ended: nobody waits for its beginning any more.
    void end()
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        begun_ = true;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool begun_ = false;
    std::atomic<bool> stop_{false};
};

Summary dedup(const char *input, const char *output, Watch &watch)
{
    bm_dedup_options options;
    bm_dedup_options_init(&options);
    options.input.paths = &input;
    options.input.n_paths = 1;
    options.output.path = output;
    options.bands.threshold = 0.7;
    options.resources.batch_docs = 64; // `cancelled` is asked at each batch
    options.callbacks.ctx = &watch;
    options.callbacks.progress = Watch::progress;
    options.callbacks.cancelled = Watch::cancelled;
    bm_summary *summary = nullptr;
    bm_error err = {};
    if (bm_job_dedup(&options, &summary, &err) != BM_OK)
        throw Failure(err);
    return Summary(summary);
}

} // namespace

int main(int argc, char **argv)
{
    const bool cancel = argc == 4 && std::strcmp(argv[3], "--cancel") == 0;
    if (argc != 3 && !cancel) {
        std::fprintf(stderr, "progress INPUT OUTPUT [--cancel]\n");
        return 2;
    }
    Watch watch;
    std::thread button;
    if (cancel)
        button = std::thread([&watch] { watch.stop_once_begun(); });
    int code = 0;
    try {
        const Summary summary = dedup(argv[1], argv[2], watch);
        const bm_counts *counts = bm_summary_counts(summary.get());
        std::fprintf(stderr, "\n");
        std::printf("%llu documents, %llu removed\n",
                    static_cast<unsigned long long>(counts->documents),
                    static_cast<unsigned long long>(counts->removed));
    } catch (const Failure &failure) {
        std::fprintf(stderr, "\nprogress: %s\n", failure.what());
        code = bm_status_exit_code(failure.status);
    }
    watch.end();
    if (button.joinable())
        button.join();
    return code;
}
