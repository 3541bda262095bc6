// module_team.cpp -- see the header. One lock: a piece of work is a page of a file, thousands of times what a
// lock costs.

#include "module_team.h"

#include <algorithm>
#include <system_error>

namespace bandmill_tables
{

Team::~Team()
{
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        begun_.notify_all();
    }
    for (std::thread &thread : threads_)
        thread.join();
}

void Team::begin(Work &work)
{
    const std::lock_guard lock(mutex_);
    work.state_ = Work::kWaits;
    waiting_.push_back(&work);
    if (waiting_.size() > idle_ && threads_.size() < most_ && !no_more_)
        add_thread();
    begun_.notify_one();
}

// Where the system gives none, those that wait do the work.
void Team::add_thread()
{
    try {
        threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error &) {
        no_more_ = true;
    }
}

void Team::finish(Work &work)
{
    std::unique_lock lock(mutex_);
    if (take_back(work))
        run(work, lock);
    while (work.state_ != Work::kIdle) {
        if (waiting_.empty())
            done_.wait(lock, [&] { return work.state_ == Work::kIdle || !waiting_.empty(); });
        else
            run(next(), lock);
    }
}

void Team::drop(Work &work)
{
    std::unique_lock lock(mutex_);
    if (take_back(work))
        work.state_ = Work::kIdle;
    done_.wait(lock, [&] { return work.state_ == Work::kIdle; });
}

bool Team::take_back(Work &work)
{
    if (work.state_ != Work::kWaits)
        return false;
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &work));
    return true;
}

void Team::run(Work &work, std::unique_lock<std::mutex> &lock)
{
    work.state_ = Work::kRuns;
    lock.unlock();
    work.body();
    lock.lock();
    work.state_ = Work::kIdle;
    done_.notify_all();
}

void Team::serve()
{
    std::unique_lock lock(mutex_);
    for (;;) {
        idle_++;
        begun_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
        idle_--;
        if (waiting_.empty())
            return;
        run(next(), lock);
    }
}

Work &Team::next()
{
    Work &work = *waiting_.front();
    waiting_.pop_front();
    return work;
}

} // namespace bandmill_tables
