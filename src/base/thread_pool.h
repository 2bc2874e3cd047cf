// A fixed set of threads that run index ranges. Made for steps of microseconds to milliseconds:
// workers spin for a short while before they sleep, and a run allocates nothing.
#ifndef HSTU_BASE_THREAD_POOL_H_
#define HSTU_BASE_THREAD_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace hstu {

class ThreadPool {
 public:
  // `threads` in all, the caller of Run included.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(task, thread) for every task in [0, tasks), handed out in ascending order, thread in
  // [0, threads()). Returns when all are done. One caller at a time; the body must not throw.
  template <typename Body>
  void Run(int64_t tasks, const Body& body) {
    RunErased(
        tasks,
        [](const void* context, int64_t task, int thread) {
          (*static_cast<const Body*>(context))(task, thread);
        },
        &body);
  }

 private:
  using Function = void (*)(const void* context, int64_t task, int thread);

  void RunErased(int64_t tasks, Function function, const void* context);
  void WorkerLoop(int thread);
  void Work(int thread);

  std::vector<std::thread> workers_;
  // The job: written before `epoch_` moves on, read after.
  Function function_ = nullptr;
  const void* context_ = nullptr;
  int64_t tasks_ = 0;
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<int64_t> running_{0};  // workers that have not finished the job
  alignas(64) std::atomic<uint64_t> epoch_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace hstu

#endif  // HSTU_BASE_THREAD_POOL_H_
