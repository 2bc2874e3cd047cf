#include "base/json.h"

#include <utility>
#include <vector>

#include "base/error.h"

namespace hstu {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 64;

// At most `limit` bytes of `text`, cut between characters.
std::string Cut(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0u) == 0x80u) --limit;
  text.resize(limit);
  return text + "...";
}

// Builds the value, and stops at what the library's own builder would let pass: doubled keys (the
// last one would win) and deep nesting (which recursive code downstream can't take).
class Builder : public nlohmann::json_sax<json> {
 public:
  json TakeRoot() { return std::move(root_); }
  const std::string& error() const { return error_; }

  bool null() override { return Put(nullptr); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(number_integer_t value) override { return Put(value); }
  bool number_unsigned(number_unsigned_t value) override { return Put(value); }
  bool number_float(number_float_t value, const string_t&) override { return Put(value); }
  bool string(string_t& value) override { return Put(std::move(value)); }
  bool binary(binary_t&) override { return Fail("binary data"); }

  bool start_object(std::size_t) override { return Open(json::object()); }
  bool start_array(std::size_t) override { return Open(json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    const auto [member, inserted] = open_.back()->emplace(name, nullptr);
    if (!inserted) {
      return Fail(fmt::format("the key {} is given twice in one object", Excerpt(name)));
    }
    member_ = &*member;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    const std::string_view what =
        e.what();  // "[json.exception.parse_error.101] parse error at ..."
    const std::size_t prefix = what.find("] ");
    return Fail(std::string(prefix == what.npos ? what : what.substr(prefix + 2)));
  }

 private:
  bool Put(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      last_ = &root_;
    } else if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      last_ = &open_.back()->back();
    } else {
      *member_ = std::move(value);
      last_ = member_;
    }
    return true;
  }

  bool Open(json value) {
    if (open_.size() >= kMaxDepth) {
      return Fail(fmt::format("it is nested deeper than {} levels", kMaxDepth));
    }
    Put(std::move(value));
    open_.push_back(last_);
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  bool Fail(std::string message) {
    error_ = std::move(message);
    return false;
  }

  json root_;
  // The containers that are open, outermost first. Each is the last element of the one before,
  // which does not change meanwhile, so the pointers hold.
  std::vector<json*> open_;
  json* member_ = nullptr;  // where the value of the latest key goes
  json* last_ = nullptr;    // the value put last
  std::string error_;
};

// The library quotes the offending token whole, which may be megabytes and any bytes.
std::string Printable(std::string text) {
  const json valid = json(Cut(std::move(text), 240));
  return json::parse(valid.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

Result<json> ParseJson(std::string_view text) {
  Builder builder;
  if (json::sax_parse(text.begin(), text.end(), &builder)) return builder.TakeRoot();
  return MakeError(ErrorCode::kBadData, "{}", Printable(builder.error()));
}

std::string Excerpt(const json& value, std::size_t limit) {
  return Cut(value.dump(-1, ' ', false, json::error_handler_t::replace), limit);
}

}  // namespace hstu
