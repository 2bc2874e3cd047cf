#include "model/vocabulary.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace hstu {
namespace {

// Mixes all bits: ids are often multiples of something.
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

Result<Vocabulary> Vocabulary::Parse(std::string_view text, std::string file_name,
                                     std::int64_t num_rows) {
  // A slot holds row + 1 in 32 bits.
  const std::int64_t limit =
      std::min<std::int64_t>(num_rows, std::numeric_limits<std::uint32_t>::max() - 1);
  Vocabulary vocabulary;
  vocabulary.file_name_ = std::move(file_name);
  auto& ids = vocabulary.ids_;
  ids.reserve(std::count(text.begin(), text.end(), '\n') + 1);
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view number = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (number.ends_with('\r')) number.remove_suffix(1);
    std::int64_t id = 0;
    const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), id);
    if (error != std::errc() || stop != number.data() + number.size()) {
      return MakeError(ErrorCode::kBadModel,
                       "{}:{}: {} is no decimal integer of 64 bits; each line must be one raw id",
                       vocabulary.file_name_, line, Excerpt(number.substr(0, 64)));
    }
    if (static_cast<std::int64_t>(ids.size()) == limit) {
      return MakeError(ErrorCode::kBadModel,
                       "{}:{}: the table has {} rows, so the file may have that many lines",
                       vocabulary.file_name_, line, limit);
    }
    ids.push_back(id);
  }
  HSTU_RETURN_IF_ERROR(vocabulary.BuildIndex());
  return vocabulary;
}

Status Vocabulary::BuildIndex() {
  slots_.assign(std::bit_ceil(ids_.size() + ids_.size() / 2 + 1), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t row = 0; row < ids_.size(); ++row) {
    std::size_t slot = FirstSlot(ids_[row]);
    for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
      if (ids_[slots_[slot] - 1] == ids_[row]) {
        return MakeError(ErrorCode::kBadModel, "{}:{}: id {} is on line {} already; remove one",
                         file_name_, row + 1, ids_[row], slots_[slot]);
      }
    }
    slots_[slot] = static_cast<std::uint32_t>(row + 1);
  }
  return {};
}

std::int64_t Vocabulary::num_bytes() const {
  return static_cast<std::int64_t>(ids_.capacity() * sizeof(ids_[0]) +
                                   slots_.capacity() * sizeof(slots_[0]));
}

std::size_t Vocabulary::FirstSlot(std::int64_t id) const {
  return Mix(static_cast<std::uint64_t>(id)) & (slots_.size() - 1);
}

std::optional<std::int64_t> Vocabulary::Find(std::int64_t id) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = FirstSlot(id); slots_[slot] != 0; slot = (slot + 1) & mask) {
    const std::uint32_t row = slots_[slot] - 1;
    if (ids_[row] == id) return row;
  }
  return std::nullopt;
}

}  // namespace hstu
