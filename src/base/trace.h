// Where a step's time goes: intervals by thread, as a Chrome trace and as totals by name.
#ifndef HSTU_BASE_TRACE_H_
#define HSTU_BASE_TRACE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

struct TraceEvent {
  const char* name;  // lives as long as the program
  int64_t begin;     // nanoseconds of the steady clock
  int64_t end;
  double flops;
  double bytes;  // read and written at least once
};

struct TraceTotal {
  std::string name;
  int64_t calls = 0;
  double seconds = 0.0;  // of all threads together
  double flops = 0.0;
  double bytes = 0.0;
};

// Each thread adds to its own list, without locks; what is past the capacity is counted and
// dropped.
class Trace {
 public:
  Trace(int threads, int64_t events_per_thread);

  void Add(int thread, const TraceEvent& event) {
    List& list = lists_[thread];
    if (list.events.size() < list.events.capacity()) {
      list.events.push_back(event);
    } else {
      ++list.dropped;
    }
  }

  int64_t dropped() const;
  // The largest share of time first.
  std::vector<TraceTotal> Totals() const;
  // The trace event format of chrome://tracing, which Perfetto opens. Times begin at 0.
  std::string ToChromeJson() const;

 private:
  struct alignas(64) List {
    std::vector<TraceEvent> events;
    int64_t dropped = 0;
  };
  std::vector<List> lists_;
};

// The totals as a table: calls, time, share, GFLOP/s and GB/s by thread.
std::string FormatTotals(const std::vector<TraceTotal>& totals);

// Adds the time from here to the end of its block; does nothing without a trace.
class TraceScope {
 public:
  TraceScope(Trace* trace, int thread, const char* name)
      : trace_(trace), thread_(thread), event_{name, 0, 0, 0.0, 0.0} {
    if (trace_ != nullptr) event_.begin = Now();
  }
  ~TraceScope() {
    if (trace_ == nullptr) return;
    event_.end = Now();
    trace_->Add(thread_, event_);
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  bool enabled() const { return trace_ != nullptr; }
  void Work(double flops, double bytes) {
    event_.flops += flops;
    event_.bytes += bytes;
  }

 private:
  static int64_t Now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  Trace* trace_;
  int thread_;
  TraceEvent event_;
};

}  // namespace hstu

#endif  // HSTU_BASE_TRACE_H_
