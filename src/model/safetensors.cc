#include "model/safetensors.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace hstu {
namespace {

using nlohmann::json;

constexpr std::size_t kPrefix = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of the format's own library
constexpr std::size_t kMaxRank = 8;

struct DTypeSize {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<DTypeSize, 15> kDTypes{{{"F32", 4},
                                             {"BF16", 2},
                                             {"F16", 2},
                                             {"F64", 8},
                                             {"F8_E4M3", 1},
                                             {"F8_E5M2", 1},
                                             {"BOOL", 1},
                                             {"U8", 1},
                                             {"I8", 1},
                                             {"U16", 2},
                                             {"I16", 2},
                                             {"U32", 4},
                                             {"I32", 4},
                                             {"U64", 8},
                                             {"I64", 8}}};

class Parser {
 public:
  Parser(std::span<const std::byte> file, std::string_view file_name)
      : file_(file), file_name_(file_name) {}

  Result<Safetensors> Parse() {
    HSTU_RETURN_IF_ERROR(ReadHeader());
    const Result<json> header = ParseJson(result_.header);
    if (!header.ok()) {
      return Lies("its header is no valid JSON: {}", header.error().message);
    }
    if (!header->is_object())
      return Lies("its header is {}, not a JSON object", Excerpt(header.value()));
    for (const auto& [name, value] : header->items()) {
      HSTU_RETURN_IF_ERROR(name == "__metadata__" ? ReadMetadata(value) : ReadEntry(name, value));
    }
    HSTU_RETURN_IF_ERROR(CheckCover());
    return std::move(result_);
  }

 private:
  template <typename... Args>
  Error Lies(fmt::format_string<Args...> format, Args&&... args) const {
    return MakeError(ErrorCode::kBadModel, "{}: {}; write the file again", file_name_,
                     fmt::format(format, std::forward<Args>(args)...));
  }

  Status ReadHeader() {
    if (file_.size() < kPrefix) {
      return Lies("it has {} bytes, fewer than the {} of a header's size", file_.size(), kPrefix);
    }
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < kPrefix; ++i) {
      size |= std::to_integer<std::uint64_t>(file_[i]) << (8 * i);
    }
    if (size > kMaxHeader) {
      return Lies("its header claims {} bytes, more than the limit of {}", size, kMaxHeader);
    }
    if (size > file_.size() - kPrefix) {
      return Lies("its header claims {} bytes, but the file has {} in all", size, file_.size());
    }
    result_.header = {reinterpret_cast<const char*>(file_.data()) + kPrefix,
                      static_cast<std::size_t>(size)};
    data_ = file_.subspan(kPrefix + static_cast<std::size_t>(size));
    return {};
  }

  Status ReadMetadata(const json& value) {
    if (!value.is_object()) return Lies("__metadata__ is {}, not an object", Excerpt(value));
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) {
        return Lies("__metadata__ {} is {}, not a string", Excerpt(key), Excerpt(text));
      }
      result_.metadata.emplace(key, text.get<std::string>());
    }
    return {};
  }

  Status ReadEntry(const std::string& name, const json& value) {
    const std::string shown = Excerpt(name);
    if (!value.is_object()) return Lies("tensor {} is {}, not an object", shown, Excerpt(value));
    SafetensorsEntry entry;
    entry.name = name;
    const json dtype = value.value("dtype", json());
    const DTypeSize* known = FindDType(dtype);
    if (known == nullptr) return Lies("tensor {} has the unknown dtype {}", shown, Excerpt(dtype));
    entry.dtype_name = known->name;
    entry.dtype = DTypeFromName(known->name);

    const json shape = value.value("shape", json());
    const auto size = ReadShape(shape, known->bytes, entry.shape);
    if (!size) return Lies("tensor {} has the impossible shape {}", shown, Excerpt(shape));

    const json offsets = value.value("data_offsets", json());
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      return Lies("tensor {} has the data_offsets {}, not two sizes", shown, Excerpt(offsets));
    }
    const auto begin = offsets[0].get<std::uint64_t>();
    const auto end = offsets[1].get<std::uint64_t>();
    if (begin > end || end > data_.size()) {
      return Lies("tensor {} has the data_offsets {}, outside the file's [0, {}]", shown,
                  Excerpt(offsets), data_.size());
    }
    if (end - begin != *size) {
      return Lies("tensor {} has {} bytes, but its shape {} of {} takes {}", shown, end - begin,
                  Excerpt(shape), known->name, *size);
    }
    entry.bytes = data_.subspan(begin, end - begin);
    result_.entries.push_back(std::move(entry));
    return {};
  }

  static const DTypeSize* FindDType(const json& name) {
    if (!name.is_string()) return nullptr;
    const auto found = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeSize& dtype) {
      return dtype.name == name.get_ref<const std::string&>();
    });
    return found == kDTypes.end() ? nullptr : &*found;
  }

  // The bytes of the shape; nothing where it is no shape, or its bytes don't fit 63 bits.
  static std::optional<std::uint64_t> ReadShape(const json& value, std::uint64_t element,
                                                std::vector<std::int64_t>& shape) {
    if (!value.is_array() || value.size() > kMaxRank) return std::nullopt;
    std::int64_t bytes = static_cast<std::int64_t>(element);
    for (const json& size : value) {
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
      shape.push_back(size.get<std::int64_t>());
      if (__builtin_mul_overflow(bytes, shape.back(), &bytes)) return std::nullopt;
    }
    return static_cast<std::uint64_t>(bytes);
  }

  // The tensors must tile the data: no byte twice, none left over.
  Status CheckCover() {
    auto& entries = result_.entries;
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
    });
    const std::byte* end = data_.data();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const SafetensorsEntry& entry = entries[i];
      if (entry.bytes.data() < end) {
        return Lies("tensors {} and {} overlap", Excerpt(entries[i - 1].name), Excerpt(entry.name));
      }
      if (entry.bytes.data() > end) {
        return Lies("no tensor has the {} bytes before {}", entry.bytes.data() - end,
                    Excerpt(entry.name));
      }
      end = entry.bytes.data() + entry.bytes.size();
    }
    const auto left = data_.data() + data_.size() - end;
    if (left > 0) return Lies("no tensor has its last {} bytes", left);
    return {};
  }

  std::span<const std::byte> file_;
  std::string_view file_name_;
  std::span<const std::byte> data_;  // what follows the header
  Safetensors result_;
};

}  // namespace

const SafetensorsEntry* Safetensors::Find(std::string_view name) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

Result<Safetensors> ParseSafetensors(std::span<const std::byte> file, std::string_view file_name) {
  return Parser(file, file_name).Parse();
}

}  // namespace hstu
