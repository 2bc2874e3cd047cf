#include "cache/saved_state.h"

#include <atomic>
#include <cstring>
#include <random>
#include <type_traits>

#include "base/hash.h"

namespace hstu {
namespace {

constexpr uint64_t kMagic = 0x3145544154535448;  // the form of the bytes

class Writer {
 public:
  template <typename T>
  void Add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Add(const std::string& text) {
    Add(static_cast<uint64_t>(text.size()));
    bytes_ += text;
  }
  template <typename T>
  void Add(const std::vector<T>& values) {
    Add(static_cast<uint64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  std::string Take() && { return std::move(bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads what Writer wrote; good() says whether all was there.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  void Read(T* value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (Take(sizeof(T))) std::memcpy(value, taken_, sizeof(T));
  }
  void Read(std::string* text) {
    uint64_t size = 0;
    Read(&size);
    if (Take(size)) text->assign(taken_, size);
  }
  template <typename T>
  void Read(std::vector<T>* values) {
    uint64_t size = 0;
    Read(&size);
    if (size > bytes_.size() / sizeof(T)) good_ = false;
    if (!good_ || !Take(size * sizeof(T))) return;
    values->resize(size);
    if (size > 0) std::memcpy(values->data(), taken_, size * sizeof(T));
  }
  bool good() const { return good_ && bytes_.empty(); }

 private:
  bool Take(uint64_t size) {
    good_ = good_ && size <= bytes_.size();
    if (!good_) return false;
    taken_ = bytes_.data();
    bytes_.remove_prefix(size);
    return true;
  }

  std::string_view bytes_;
  const char* taken_ = nullptr;
  bool good_ = true;
};

static_assert(std::has_unique_object_representations_v<StatePart>, "written as its bytes");

}  // namespace

int64_t StateHeader::PartBytes() const {
  int64_t bytes = 0;
  for (const StatePart& part : parts) bytes += part.bytes;
  return bytes;
}

std::string SerializeHeader(const StateHeader& header) {
  Writer writer;
  writer.Add(kMagic);
  writer.Add(header.identity);
  writer.Add(header.user_id);
  writer.Add(header.version);
  writer.Add(header.num_context);
  writer.Add(header.stages);
  writer.Add(header.tokens);
  writer.Add(header.waiting);
  writer.Add(header.open);
  writer.Add(header.parts);
  writer.Add(Checksum(writer.bytes()));
  return std::move(writer).Take();
}

std::optional<StateHeader> ParseHeader(std::string_view bytes) {
  uint64_t checksum = 0;
  if (bytes.size() < sizeof(checksum)) return std::nullopt;
  const std::string_view body = bytes.substr(0, bytes.size() - sizeof(checksum));
  std::memcpy(&checksum, bytes.data() + body.size(), sizeof(checksum));
  if (checksum != Checksum(body)) return std::nullopt;
  Reader reader(body);
  uint64_t magic = 0;
  StateHeader header;
  reader.Read(&magic);
  reader.Read(&header.identity);
  reader.Read(&header.user_id);
  reader.Read(&header.version);
  reader.Read(&header.num_context);
  reader.Read(&header.stages);
  reader.Read(&header.tokens);
  reader.Read(&header.waiting);
  reader.Read(&header.open);
  reader.Read(&header.parts);
  if (!reader.good() || magic != kMagic) return std::nullopt;
  return header;
}

PartBuffer::PartBuffer(int64_t size) : data(new std::byte[size]), size(size) {}

PartBytes PartBuffer::Share() const { return {{data.get(), static_cast<size_t>(size)}, data}; }

uint64_t UniqueNumber() {
  // Processes that share a tier begin at places of their own.
  static const uint64_t start = [] {
    std::random_device random;
    return (static_cast<uint64_t>(random()) << 32) ^ random();
  }();
  static std::atomic<uint64_t> next = 0;
  return start + next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace hstu
