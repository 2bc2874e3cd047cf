// The module libhstu_mpi.so: the communicator by MPI.
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ranks/mpi.h"
#include "ranks/mpi_watch.h"

namespace hstu {
namespace {

// Ranks may share processors with each other and with the threads that compute, so waiting gives
// way soon, and sleeps where nothing comes for long: between requests.
void WaitFor(MPI_Request* request) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kSpin = std::chrono::microseconds(50);
  constexpr auto kYield = std::chrono::milliseconds(5);
  constexpr auto kBusy = std::chrono::milliseconds(100);
  constexpr auto kNap = std::chrono::microseconds(100);
  constexpr auto kSleep = std::chrono::milliseconds(1);
  const Clock::time_point begin = Clock::now();
  while (true) {
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    const auto waited = Clock::now() - begin;
    if (waited > kYield) {
      std::this_thread::sleep_for(waited > kBusy ? kSleep : kNap);
    } else if (waited > kSpin) {
      sched_yield();
    }
  }
}

class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  ~MpiCommunicator() override { MPI_Comm_free(&comm_); }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void AllGather(const std::byte* own, std::span<const int64_t> sizes, std::byte* all) override {
    counts_.assign(sizes.begin(), sizes.end());
    places_.assign(sizes.size(), 0);
    for (size_t i = 1; i < sizes.size(); ++i) places_[i] = places_[i - 1] + counts_[i - 1];
    MPI_Request request;
    MPI_Iallgatherv(own, counts_[rank_], MPI_BYTE, all, counts_.data(), places_.data(), MPI_BYTE,
                    comm_, &request);
    WaitFor(&request);
  }

  void Broadcast(std::span<std::byte> bytes) override {
    constexpr size_t kMost = size_t{1} << 30;  // MPI counts in int
    for (size_t at = 0; at < bytes.size(); at += kMost) {
      const auto count = static_cast<int>(std::min(kMost, bytes.size() - at));
      MPI_Request request;
      MPI_Ibcast(bytes.data() + at, count, MPI_BYTE, 0, comm_, &request);
      WaitFor(&request);
    }
  }

  std::unique_ptr<Communicator> Split(int color) override {
    MPI_Comm group;
    MPI_Comm_split(comm_, color, rank_, &group);
    return std::make_unique<MpiCommunicator>(group);
  }

 private:
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 0;
  std::vector<int> counts_;
  std::vector<int> places_;
};

// MPI itself, from its beginning to its end, which is when all ranks have come to theirs.
class MpiWorld : public Communicator {
 public:
  MpiWorld() : all_(Duplicate()), watch_(std::make_unique<MpiWatch>(MPI_COMM_WORLD)) {}
  ~MpiWorld() override {
    watch_.reset();
    all_.reset();
    MPI_Finalize();
  }

  int rank() const override { return all_->rank(); }
  int size() const override { return all_->size(); }
  void AllGather(const std::byte* own, std::span<const int64_t> sizes, std::byte* all) override {
    all_->AllGather(own, sizes, all);
  }
  void Broadcast(std::span<std::byte> bytes) override { all_->Broadcast(bytes); }
  std::unique_ptr<Communicator> Split(int color) override { return all_->Split(color); }

 private:
  static std::unique_ptr<MpiCommunicator> Duplicate() {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    return std::make_unique<MpiCommunicator>(comm);
  }

  std::unique_ptr<MpiCommunicator> all_;
  std::unique_ptr<MpiWatch> watch_;
};

}  // namespace
}  // namespace hstu

extern "C" __attribute__((visibility("default"))) hstu::Communicator* hstuMpiCommunicator(
    std::string* error) {
  int provided = 0;
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized != 0) {
    *error = "MPI is in use already: a process has one engine with ranks";
    return nullptr;
  }
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
    *error = "MPI can't be initialised; what it printed says why";
    return nullptr;
  }
  if (provided != MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    *error = "this MPI doesn't serve several threads: MPI_THREAD_MULTIPLE is needed";
    return nullptr;
  }
  return new hstu::MpiWorld();
}
