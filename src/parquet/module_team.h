/* module_team.h -- work that is done ahead, on a few threads: whoever needs a piece of it waits for just that
 * piece, or does it where no thread has begun it. So results are taken in their order, whoever was first. */
#ifndef BANDMILL_PARQUET_MODULE_TEAM_H
#define BANDMILL_PARQUET_MODULE_TEAM_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace bandmill_tables
{

// A piece of work, which stays where it is between begin() and finish() or drop().
class Work
{
  public:
    std::function<void()> body; // throws nothing

  private:
    friend class Team;
    enum State { kIdle, kWaits, kRuns };
    State state_ = kIdle;
};

// Its threads start as there is work for them. Any thread may call.
class Team
{
  public:
    explicit Team(unsigned threads) : most_(threads)
    {
    }
    Team(const Team &) = delete;
    Team &operator=(const Team &) = delete;
    ~Team(); // no work waits any more

    void begin(Work &work);
    void finish(Work &work); // behind it the work is done; while others do it, it does what waits
    void drop(Work &work);   // it is not done, or, where it was begun, is done
    unsigned threads() const // at most
    {
        return most_;
    }

  private:
    void run(Work &work, std::unique_lock<std::mutex> &lock);
    Work &next();
    bool take_back(Work &work); // it waits no more
    void serve();
    void add_thread();

    const unsigned most_;
    std::mutex mutex_;
    std::condition_variable begun_, done_;
    std::deque<Work *> waiting_;
    std::vector<std::thread> threads_;
    std::size_t idle_ = 0; // of the threads
    bool ended_ = false, no_more_ = false;
};

} // namespace bandmill_tables

#endif
