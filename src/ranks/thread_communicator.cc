#include "ranks/thread_communicator.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace hstu {
namespace {

// Where the threads of a group lay open what the others may read.
class Meeting {
 public:
  explicit Meeting(int size) : given(size), colors(size), groups(size), size_(size) {}

  // Returns when all threads are here.
  void Wait() {
    std::unique_lock lock(mutex_);
    const int64_t round = round_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      ++round_;
      all_here_.notify_all();
      return;
    }
    all_here_.wait(lock, [&] { return round_ != round; });
  }

  // By rank; written before a Wait, read after it.
  std::vector<const std::byte*> given;
  std::vector<int> colors;
  std::vector<std::shared_ptr<Meeting>> groups;

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  int arrived_ = 0;
  int64_t round_ = 0;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Meeting> meeting, int rank, int size)
      : meeting_(std::move(meeting)), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void AllGather(const std::byte* own, std::span<const int64_t> sizes, std::byte* all) override {
    meeting_->given[rank_] = own;
    meeting_->Wait();
    for (int i = 0; i < size_; ++i) {
      all = std::copy_n(meeting_->given[i], sizes[i], all);
    }
    meeting_->Wait();
  }

  void Broadcast(std::span<std::byte> bytes) override {
    meeting_->given[rank_] = bytes.data();
    meeting_->Wait();
    if (rank_ != 0) std::copy_n(meeting_->given[0], bytes.size(), bytes.data());
    meeting_->Wait();
  }

  std::unique_ptr<Communicator> Split(int color) override {
    meeting_->colors[rank_] = color;
    meeting_->Wait();
    const std::vector<int>& colors = meeting_->colors;
    const auto first = std::find(colors.begin(), colors.end(), color) - colors.begin();
    const auto size = static_cast<int>(std::count(colors.begin(), colors.end(), color));
    const auto rank = static_cast<int>(std::count(colors.begin(), colors.begin() + rank_, color));
    if (first == rank_) meeting_->groups[first] = std::make_shared<Meeting>(size);
    meeting_->Wait();
    auto group = std::make_unique<ThreadCommunicator>(meeting_->groups[first], rank, size);
    meeting_->Wait();
    return group;
  }

 private:
  const std::shared_ptr<Meeting> meeting_;
  const int rank_;
  const int size_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> MakeThreadCommunicators(int size) {
  const auto meeting = std::make_shared<Meeting>(size);
  std::vector<std::unique_ptr<Communicator>> ranks;
  ranks.reserve(size);
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(std::make_unique<ThreadCommunicator>(meeting, rank, size));
  }
  return ranks;
}

}  // namespace hstu
