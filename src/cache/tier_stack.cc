#include "cache/tier_stack.h"

#include <utility>

#include "base/hash.h"

namespace hstu {

TierStack::TierStack(std::vector<std::unique_ptr<Tier>> tiers, std::string identity)
    : tiers_(tiers.size()), identity_(std::move(identity)) {
  for (size_t i = 0; i < tiers.size(); ++i) tiers_[i].tier = std::move(tiers[i]);
}

std::optional<TierStack::Found> TierStack::Find(const std::string& user_id, size_t from) {
  for (size_t i = from; i < tiers_.size(); ++i) {
    std::optional<StateHeader> header = FindIn(&tiers_[i], user_id);
    ++(header ? tiers_[i].hits : tiers_[i].misses);
    if (header) return Found{i, *std::move(header)};
  }
  return std::nullopt;
}

std::optional<StateHeader> TierStack::FindIn(Counted* counted, const std::string& user_id) {
  const Result<std::optional<std::string>> text = counted->tier->ReadHeader(user_id);
  if (!text.ok()) {
    ++counted->errors;
    return std::nullopt;
  }
  if (!text.value()) return std::nullopt;
  std::optional<StateHeader> header = ParseHeader(*text.value());
  if (!header || header->user_id != user_id) {
    ++counted->damaged;
    counted->tier->Erase(user_id);
    return std::nullopt;
  }
  // Left by another model, say, whose state this engine's next save replaces.
  if (header->identity != identity_) return std::nullopt;
  return header;
}

std::optional<StateHeader> TierStack::HeaderIn(size_t tier, const std::string& user_id) {
  const Result<std::optional<std::string>> text = tiers_[tier].tier->ReadHeader(user_id);
  if (!text.ok() || !text.value()) return std::nullopt;
  return ParseHeader(*text.value());
}

std::optional<PartBytes> TierStack::Read(size_t tier, const std::string& user_id,
                                         const StatePart& part) {
  Counted& counted = tiers_[tier];
  const Result<std::optional<PartBytes>> bytes = counted.tier->ReadPart(user_id, part);
  if (bytes.ok() && bytes.value() && Checksum(bytes.value()->bytes) == part.checksum &&
      static_cast<int64_t>(bytes.value()->bytes.size()) == part.bytes) {
    counted.bytes_read += part.bytes;
    return bytes.value();
  }
  ++(bytes.ok() ? counted.damaged : counted.errors);
  counted.tier->Erase(user_id);
  return std::nullopt;
}

TierMask TierStack::Lacking(const std::string& user_id, uint64_t version) {
  TierMask lacking = 0;
  for (size_t i = 0; i < tiers_.size(); ++i) {
    if (version == 0 || !tiers_[i].tier->Holds(user_id, version)) lacking |= TierMask{1} << i;
  }
  return lacking;
}

TierMask TierStack::Write(const std::string& user_id, const StatePart& part, const PartBytes& bytes,
                          TierMask to) {
  TierMask done = 0;
  for (size_t i = 0; i < tiers_.size(); ++i) {
    if ((to >> i & 1) == 0) continue;
    if (tiers_[i].tier->WritePart(user_id, part, bytes).ok()) {
      tiers_[i].bytes_written += part.bytes;
      done |= TierMask{1} << i;
    } else {
      ++tiers_[i].errors;
      tiers_[i].tier->Erase(user_id);
    }
  }
  return done;
}

void TierStack::Commit(const StateHeader& header, TierMask to) {
  for (size_t i = 0; i < tiers_.size(); ++i) {
    if ((to >> i & 1) == 0) continue;
    if (!tiers_[i].tier->Commit(header).ok()) {
      ++tiers_[i].errors;
      tiers_[i].tier->Erase(header.user_id);
    }
  }
}

void TierStack::Erase(const std::string& user_id) {
  for (Counted& counted : tiers_) counted.tier->Erase(user_id);
}

std::vector<TierCounters> TierStack::counters() const {
  std::vector<TierCounters> all;
  for (const Counted& counted : tiers_) {
    all.push_back({counted.tier->name(), counted.hits, counted.misses, counted.bytes_read,
                   counted.bytes_written, counted.damaged, counted.errors, counted.tier->usage()});
  }
  return all;
}

}  // namespace hstu
