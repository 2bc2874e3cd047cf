#include "cache/host_tier.h"

#include <set>

#include "base/error.h"

namespace hstu {

Result<std::optional<std::string>> HostTier::ReadHeader(const std::string& user_id) {
  const std::lock_guard lock(mutex_);
  const auto* user = states_.Find(user_id);
  if (user == nullptr || user->entry.header.empty()) return std::optional<std::string>();
  return std::optional(states_.Touch(user_id)->entry.header);
}

Result<std::optional<PartBytes>> HostTier::ReadPart(const std::string& user_id,
                                                    const StatePart& part) {
  const std::lock_guard lock(mutex_);
  const auto* user = states_.Find(user_id);
  if (user == nullptr) return std::optional<PartBytes>();
  const auto found = user->entry.parts.find(part.id);
  if (found == user->entry.parts.end()) return std::optional<PartBytes>();
  return std::optional(found->second);
}

bool HostTier::Holds(const std::string& user_id, uint64_t version) {
  const std::lock_guard lock(mutex_);
  const auto* user = states_.Find(user_id);
  return user != nullptr && !user->entry.header.empty() && user->entry.version == version;
}

Status HostTier::WritePart(const std::string& user_id, const StatePart& part,
                           const PartBytes& bytes) {
  const std::lock_guard lock(mutex_);
  HSTU_RETURN_IF_ERROR(MakeRoom(user_id, part.bytes));
  auto* user = states_.Touch(user_id);
  if (user->entry.parts.emplace(part.id, bytes).second) states_.Charge(user, part.bytes);
  return {};
}

Status HostTier::Commit(const StateHeader& header) {
  const std::lock_guard lock(mutex_);
  auto* user = states_.Touch(header.user_id);
  State& state = user->entry;
  std::set<uint64_t> named;
  for (const StatePart& part : header.parts) named.insert(part.id);
  for (auto part = state.parts.begin(); part != state.parts.end();) {
    if (named.contains(part->first)) {
      ++part;
      continue;
    }
    states_.Charge(user, -static_cast<int64_t>(part->second.bytes.size()));
    part = state.parts.erase(part);
  }
  const bool whole = state.parts.size() == named.size();
  std::string text = SerializeHeader(header);
  const int64_t grown =
      static_cast<int64_t>(text.size()) - static_cast<int64_t>(state.header.size());
  if (!whole || !MakeRoom(header.user_id, grown).ok()) {
    states_.Erase(header.user_id);
    return MakeError(ErrorCode::kIo, "host tier: no room for all of user {}", header.user_id);
  }
  states_.Charge(user, grown);
  state.header = std::move(text);
  state.version = header.version;
  return {};
}

void HostTier::Erase(const std::string& user_id) {
  const std::lock_guard lock(mutex_);
  states_.Erase(user_id);
}

TierUsage HostTier::usage() const {
  const std::lock_guard lock(mutex_);
  return {states_.users(), states_.bytes(), users_evicted_};
}

std::vector<std::string> HostTier::Users() const {
  const std::lock_guard lock(mutex_);
  return states_.Names();
}

// For `bytes` more of a user, who stays.
Status HostTier::MakeRoom(const std::string& user_id, int64_t bytes) {
  while (states_.bytes() + bytes > max_bytes_) {
    const auto* victim = states_.Oldest(user_id);
    if (victim == nullptr) {
      return MakeError(ErrorCode::kIo, "host tier: user {} alone takes more than its {} bytes",
                       user_id, max_bytes_);
    }
    states_.Erase(std::string(victim->user_id));
    ++users_evicted_;
  }
  return {};
}

}  // namespace hstu
