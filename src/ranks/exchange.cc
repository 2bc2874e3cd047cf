#include "ranks/exchange.h"

#include <fmt/format.h>

#include <iterator>
#include <numeric>
#include <utility>

#include "base/timing.h"

namespace hstu {

Exchange::Exchange(std::unique_ptr<Communicator> group, const char* name, Trace* trace, int lane)
    : group_(std::move(group)), name_(name), trace_(trace), lane_(lane) {
  thread_ = std::thread([this] { Run(); });
}

Exchange::~Exchange() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

int64_t Exchange::Start(const std::byte* own, const std::vector<int64_t>& sizes, std::byte* all) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({own, sizes, all, layer_});
  }
  changed_.notify_all();
  return ++started_;
}

void Exchange::Wait(int64_t ticket) {
  std::unique_lock lock(mutex_);
  const double seconds = SecondsOf([&] { changed_.wait(lock, [&] { return done_ >= ticket; }); });
  TotalOf(layer_).waited += seconds;
}

void Exchange::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    const double seconds = SecondsOf([&] { Gather(job); });
    lock.lock();
    ExchangeTotal& total = TotalOf(job.layer);
    const int64_t own = job.sizes[group_->rank()];
    ++total.calls;
    total.bytes_sent += own;
    total.bytes_received += std::accumulate(job.sizes.begin(), job.sizes.end(), -own);
    total.seconds += seconds;
    ++done_;
    changed_.notify_all();
  }
}

void Exchange::Gather(const Job& job) {
  TraceScope scope(trace_, lane_, name_);
  scope.Work(0.0,
             static_cast<double>(std::accumulate(job.sizes.begin(), job.sizes.end(), int64_t{0})));
  group_->AllGather(job.own, job.sizes, job.all);
}

ExchangeTotal& Exchange::TotalOf(int64_t layer) {
  const auto index = static_cast<size_t>(layer + 1);
  if (totals_.size() <= index) totals_.resize(index + 1);
  return totals_[index];
}

std::string FormatExchange(const Exchange& exchange) {
  std::string table = fmt::format("{:<20}{:>8}{:>14}{:>14}{:>12}{:>12}\n", exchange.name(), "calls",
                                  "bytes sent", "received", "time ms", "waited ms");
  for (size_t i = 0; i < exchange.totals().size(); ++i) {
    const ExchangeTotal& total = exchange.totals()[i];
    if (total.calls == 0) continue;
    const std::string where = i == 0 ? "before the layers" : fmt::format("layer {}", i - 1);
    fmt::format_to(std::back_inserter(table), "  {:<18}{:>8}{:>14}{:>14}{:>12.3f}{:>12.3f}\n",
                   where, total.calls, total.bytes_sent, total.bytes_received, total.seconds * 1e3,
                   total.waited * 1e3);
  }
  return table;
}

}  // namespace hstu
