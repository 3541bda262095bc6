/* module_beside.h -- reading beside writing: what one thread reads another one writes. */
#ifndef BANDMILL_PARQUET_MODULE_BESIDE_H
#define BANDMILL_PARQUET_MODULE_BESIDE_H

#include "module_common.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace bandmill_tables
{

template <class Piece> using Push = std::function<arrow::Status(Piece)>;

// Pieces that are read before they are written.
template <class Piece> class Queue
{
  public:
    arrow::Status push(Piece piece)
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return pieces_.size() < kAhead || ended_; });
        if (ended_)
            return arrow::Status::Cancelled("nobody writes any more");
        pieces_.push_back(std::move(piece));
        changed_.notify_all();
        return arrow::Status::OK();
    }
    // False at the end.
    bool pop(Piece *piece)
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !pieces_.empty() || ended_; });
        if (pieces_.empty())
            return false;
        *piece = std::move(pieces_.front());
        pieces_.pop_front();
        changed_.notify_all();
        return true;
    }
    void end()
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        changed_.notify_all();
    }

  private:
    static constexpr std::size_t kAhead = 4;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Piece> pieces_;
    bool ended_ = false;
};

// `read` pushes all pieces, on a thread of its own, `write` takes each, in their order.
template <class Piece>
arrow::Status read_beside(const std::function<arrow::Status(const Push<Piece> &)> &read,
                          const Push<Piece> &write)
{
    Queue<Piece> queue;
    arrow::Status was_read, written;
    std::thread reader([&] {
        was_read = caught([&] { return read([&](Piece p) { return queue.push(std::move(p)); }); });
        queue.end();
    });
    Piece piece;
    while (written.ok() && queue.pop(&piece))
        written = caught([&] { return write(std::move(piece)); });
    queue.end();
    reader.join();
    return written.ok() ? was_read : written;
}

} // namespace bandmill_tables

#endif
