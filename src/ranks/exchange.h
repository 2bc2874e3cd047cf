// All-gathers beside the computation: a thread of their own runs them one after the other, so that
// one part is combined while the next is computed.
#ifndef HSTU_RANKS_EXCHANGE_H_
#define HSTU_RANKS_EXCHANGE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/trace.h"
#include "ranks/communicator.h"

namespace hstu {

// What was exchanged in one layer, or before the first.
struct ExchangeTotal {
  int64_t calls = 0;
  int64_t bytes_sent = 0;      // this rank's part, once
  int64_t bytes_received = 0;  // the others' parts
  double seconds = 0.0;        // from the begin of an all-gather to its end
  double waited = 0.0;         // that the computation stood still for it
};

class Exchange {
 public:
  // Takes the group's communicator for itself. `trace` may be null; `lane`: its list of this
  // thread. `name` of what is exchanged, as the trace has it, lives as long as the program.
  Exchange(std::unique_ptr<Communicator> group, const char* name, Trace* trace, int lane);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  int rank() const { return group_->rank(); }
  int size() const { return group_->size(); }
  const char* name() const { return name_; }

  // Which total counts what is started next: -1 before the first layer.
  void SetLayer(int64_t layer) { layer_ = layer; }

  // Begins Communicator::AllGather; `own` and `all` must live until its Wait. Returns its ticket.
  int64_t Start(const std::byte* own, const std::vector<int64_t>& sizes, std::byte* all);
  // Returns when the all-gather of that ticket is done.
  void Wait(int64_t ticket);

  // By layer, the one before the first at the front. Call between steps.
  const std::vector<ExchangeTotal>& totals() const { return totals_; }

 private:
  struct Job {
    const std::byte* own;
    std::vector<int64_t> sizes;
    std::byte* all;
    int64_t layer;
  };

  void Run();
  void Gather(const Job& job);
  ExchangeTotal& TotalOf(int64_t layer);

  const std::unique_ptr<Communicator> group_;
  const char* const name_;
  Trace* const trace_;
  const int lane_;
  int64_t layer_ = -1;
  int64_t started_ = 0;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  int64_t done_ = 0;
  bool stop_ = false;
  std::vector<ExchangeTotal> totals_;
  std::thread thread_;
};

// The totals of an exchange as a table, a line for each layer.
std::string FormatExchange(const Exchange& exchange);

}  // namespace hstu

#endif  // HSTU_RANKS_EXCHANGE_H_
