#include "cache/cache_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace hstu {
namespace {

constexpr const char* kNames[] = {"write", "arrive", "read"};

// One line, read back.
struct Line {
  int64_t number = 0;
  int64_t step = 0;
  CacheOperation operation = CacheOperation::kWrite;
  int64_t layer = 0;
  std::string user_id;
  int64_t position = 0;
  int64_t offset = 0;
  int64_t length = 0;
};

class Checker {
 public:
  void Add(const Line& line) {
    if (report_.lines++ == 0 || line.step != step_) {
      EndStep();
      step_ = line.step;
      ++report_.steps;
    }
    for (int64_t i = 0; i < line.length; ++i) AddSlot(line, i);
    Extent& extent = extents_[{line.user_id, line.layer}];
    extent.first = std::min(extent.first, line.position);
    extent.end = std::max(extent.end, line.position + line.length);
    extent.tokens += line.length;
    extent.line = line.number;
  }

  CacheLogReport Finish() {
    EndStep();
    return std::move(report_);
  }

 private:
  struct Slot {
    int64_t user = -1;
    int64_t position = -1;
    int64_t written = -1;  // in which step
    int64_t read = -1;
  };
  struct Extent {
    int64_t first = INT64_MAX;
    int64_t end = 0;
    int64_t tokens = 0;
    int64_t line = 0;
  };

  void AddSlot(const Line& line, int64_t index) {
    Slot& slot = slots_[line.layer][line.offset + index];
    const int64_t position = line.position + index;
    const auto number = static_cast<int64_t>(users_.size());
    const int64_t user = users_.try_emplace(line.user_id, number).first->second;
    if (line.operation == CacheOperation::kRead) {
      ++report_.tokens_read;
      const bool arrived = arrived_.contains({line.layer, line.offset + index});
      if (slot.written == line.step && !arrived) Fault(line, "read and written", &report_.meetings);
      if (slot.user != user || slot.position != position) {
        Fault(line, "read, but not what was written,", &report_.gaps);
      }
      slot.read = line.step;
      return;
    }
    const bool arrives = line.operation == CacheOperation::kArrive;
    ++(arrives ? report_.tokens_arrived : report_.tokens_written);
    if (slot.written == line.step) Fault(line, "written twice", &report_.overlaps);
    if (slot.read == line.step) Fault(line, "written after it was read", &report_.meetings);
    slot = {user, position, line.step, slot.read};
    if (arrives) arrived_.insert({line.layer, line.offset + index});
  }

  // What a step reads and writes of a user has no gaps.
  void EndStep() {
    for (const auto& [key, extent] : extents_) {
      if (extent.end - extent.first <= extent.tokens) continue;
      ++report_.gaps;
      if (report_.first_fault.empty()) {
        report_.first_fault =
            fmt::format("line {}: step {} leaves out tokens of user {} in layer {}", extent.line,
                        step_, key.first, key.second);
      }
    }
    extents_.clear();
    arrived_.clear();
  }

  void Fault(const Line& line, const char* what, int64_t* counter) {
    ++*counter;
    if (!report_.first_fault.empty()) return;
    report_.first_fault =
        fmt::format("line {}: a slot of layer {} is {} in step {} (user {}, from position {})",
                    line.number, line.layer, what, line.step, line.user_id, line.position);
  }

  CacheLogReport report_;
  int64_t step_ = 0;
  std::map<int64_t, std::unordered_map<int64_t, Slot>> slots_;  // by layer, by offset
  std::unordered_map<std::string, int64_t> users_;
  std::map<std::pair<std::string, int64_t>, Extent> extents_;  // of the step, by user and layer
  std::set<std::pair<int64_t, int64_t>> arrived_;              // in the step: layer, offset
};

Result<Line> ParseLine(const std::string& text, const std::string& path, int64_t number) {
  const auto lies = [&](const std::string& why) {
    return MakeError(ErrorCode::kBadData, "{}: line {}: {}", path, number, why);
  };
  const Result<nlohmann::json> json = ParseJson(text);
  if (!json.ok()) return lies(json.error().message);
  Line line;
  line.number = number;
  for (const auto& [key, value] :
       {std::pair("step", &line.step), std::pair("layer", &line.layer),
        std::pair("position", &line.position), std::pair("offset", &line.offset),
        std::pair("length", &line.length)}) {
    const auto found = json->find(key);
    if (!json->is_object() || found == json->end() || !found->is_number_integer()) {
      return lies(fmt::format("it has no number {}", key));
    }
    *value = found->get<int64_t>();
  }
  const auto user = json->find("user");
  if (user == json->end() || !user->is_string()) return lies("it has no user");
  line.user_id = user->get<std::string>();
  const std::string operation = json->value("op", nlohmann::json()).is_string()
                                    ? json->at("op").get<std::string>()
                                    : std::string();
  const auto* known = std::find(std::begin(kNames), std::end(kNames), operation);
  if (known == std::end(kNames)) return lies("its op is none of write, arrive and read");
  line.operation = static_cast<CacheOperation>(known - std::begin(kNames));
  return line;
}

}  // namespace

Result<std::unique_ptr<CacheLog>> CacheLog::Open(const std::string& path, int64_t page_tokens) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    return MakeError(ErrorCode::kIo, "cache log {}: {}", path, std::strerror(errno));
  }
  return std::unique_ptr<CacheLog>(new CacheLog(file, page_tokens));
}

void CacheLog::BeginStep() {
  const std::lock_guard lock(mutex_);
  std::fflush(file_.get());
  ++step_;
}

void CacheLog::Add(const CacheAccess& access) {
  const std::string user = nlohmann::json(std::string(access.user_id))
                               .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::lock_guard lock(mutex_);
  for (int64_t done = 0; done < access.count;) {
    const int64_t position = access.position + done;
    const int64_t entry = position % page_tokens_;
    const int64_t length = std::min(access.count - done, page_tokens_ - entry);
    const int64_t page = access.table[position / page_tokens_ - access.first_page];
    const std::string line = fmt::format(
        "{{\"step\":{},\"op\":\"{}\",\"layer\":{},\"offset\":{},\"length\":{},\"user\":{},"
        "\"position\":{}}}\n",
        step_, kNames[static_cast<size_t>(access.operation)], access.layer,
        page * page_tokens_ + entry, length, user, position);
    std::fwrite(line.data(), 1, line.size(), file_.get());
    done += length;
  }
}

Result<CacheLogReport> CheckCacheLog(const std::string& path) {
  std::ifstream in(path);
  if (!in) return MakeError(ErrorCode::kIo, "{}: {}", path, std::strerror(errno));
  Checker checker;
  std::string text;
  for (int64_t number = 1; std::getline(in, text); ++number) {
    HSTU_ASSIGN_OR_RETURN(const Line line, ParseLine(text, path, number));
    checker.Add(line);
  }
  return checker.Finish();
}

}  // namespace hstu
