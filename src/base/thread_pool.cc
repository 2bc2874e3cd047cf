#include "base/thread_pool.h"

#include <algorithm>

namespace hstu {
namespace {

// About 50 microseconds: longer than the gap between two operators, shorter than a scheduler tick.
constexpr int kSpins = 2000;

void Pause() { __builtin_ia32_pause(); }

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < std::max(1, threads); ++i) {
    workers_.emplace_back([this, i] { WorkerLoop(i); });
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    epoch_.fetch_add(1);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::RunErased(int64_t tasks, Function function, const void* context) {
  if (workers_.empty() || tasks <= 1) {
    for (int64_t task = 0; task < tasks; ++task) function(context, task, 0);
    return;
  }
  function_ = function;
  context_ = context;
  tasks_ = tasks;
  next_.store(0, std::memory_order_relaxed);
  running_.store(static_cast<int64_t>(workers_.size()), std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    epoch_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  Work(0);
  for (int spin = 0; running_.load(std::memory_order_acquire) > 0; ++spin) {
    if (spin < kSpins) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::Work(int thread) {
  for (;;) {
    const int64_t task = next_.fetch_add(1, std::memory_order_relaxed);
    if (task >= tasks_) return;
    function_(context_, task, thread);
  }
}

void ThreadPool::WorkerLoop(int thread) {
  uint64_t seen = 0;
  for (;;) {
    for (int spin = 0; spin < kSpins && epoch_.load(std::memory_order_acquire) == seen; ++spin) {
      Pause();
    }
    if (epoch_.load(std::memory_order_acquire) == seen) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return epoch_.load(std::memory_order_acquire) != seen; });
    }
    ++seen;
    if (stop_) return;
    Work(thread);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace hstu
