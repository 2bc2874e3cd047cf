#include "base/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

namespace hstu {

Trace::Trace(int threads, int64_t events_per_thread) : lists_(threads) {
  for (List& list : lists_) list.events.reserve(events_per_thread);
}

int64_t Trace::dropped() const {
  int64_t dropped = 0;
  for (const List& list : lists_) dropped += list.dropped;
  return dropped;
}

std::vector<TraceTotal> Trace::Totals() const {
  std::map<std::string, TraceTotal> by_name;
  for (const List& list : lists_) {
    for (const TraceEvent& event : list.events) {
      TraceTotal& total = by_name[event.name];
      ++total.calls;
      total.seconds += static_cast<double>(event.end - event.begin) * 1e-9;
      total.flops += event.flops;
      total.bytes += event.bytes;
    }
  }
  std::vector<TraceTotal> totals;
  for (auto& [name, total] : by_name) {
    total.name = name;
    totals.push_back(total);
  }
  std::sort(totals.begin(), totals.end(),
            [](const TraceTotal& a, const TraceTotal& b) { return a.seconds > b.seconds; });
  return totals;
}

std::string Trace::ToChromeJson() const {
  int64_t origin = std::numeric_limits<int64_t>::max();
  for (const List& list : lists_) {
    for (const TraceEvent& event : list.events) origin = std::min(origin, event.begin);
  }
  std::string json = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char* separator = "\n";
  for (size_t thread = 0; thread < lists_.size(); ++thread) {
    for (const TraceEvent& event : lists_[thread].events) {
      fmt::format_to(std::back_inserter(json),
                     "{}{{\"name\":\"{}\",\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{:.3f},"
                     "\"dur\":{:.3f},\"args\":{{\"flops\":{:.0f},\"bytes\":{:.0f}}}}}",
                     separator, event.name, thread,
                     static_cast<double>(event.begin - origin) * 1e-3,
                     static_cast<double>(event.end - event.begin) * 1e-3, event.flops, event.bytes);
      separator = ",\n";
    }
  }
  return json + "\n]}\n";
}

std::string FormatTotals(const std::vector<TraceTotal>& totals) {
  double all = 0.0;
  for (const TraceTotal& total : totals) all += total.seconds;
  std::string table = fmt::format("{:<20}{:>10}{:>12}{:>8}{:>10}{:>8}\n", "operator", "calls",
                                  "time ms", "share", "GFLOP/s", "GB/s");
  for (const TraceTotal& total : totals) {
    const double seconds = std::max(total.seconds, 1e-12);
    fmt::format_to(std::back_inserter(table), "{:<20}{:>10}{:>12.3f}{:>7.1f}%{:>10.1f}{:>8.1f}\n",
                   total.name, total.calls, total.seconds * 1e3,
                   100.0 * total.seconds / std::max(all, 1e-12), total.flops / seconds * 1e-9,
                   total.bytes / seconds * 1e-9);
  }
  return table;
}

}  // namespace hstu
