#include "data/gin.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

#include "base/error.h"
#include "data/input_file.h"

namespace hstu {
namespace {

constexpr int kMaxDepth = 32;  // of brackets, of includes, and of macros that use macros
constexpr std::size_t kMaxFileBytes = 16 << 20;

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// Names may carry scopes and modules: "item/FeatureArgs", "package.Class.parameter".
bool IsNameRest(char c) { return IsNameStart(c) || IsDigit(c) || c == '.' || c == '/'; }

// Text with a place in it.
class Cursor {
 public:
  Cursor(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  bool AtEnd() const { return at_ == text_.size(); }
  char Peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void Advance() { line_ += text_[at_++] == '\n'; }
  bool Take(char c) {
    if (AtEnd() || Peek() != c) return false;
    Advance();
    return true;
  }

  // Skips blanks, continued lines and comments; also line ends if `lines`.
  void SkipBlanks(bool lines) {
    while (!AtEnd()) {
      if (Peek() == '#') {
        while (!AtEnd() && Peek() != '\n') Advance();
      } else if (Peek() == '\\' && (Peek(1) == '\n' || (Peek(1) == '\r' && Peek(2) == '\n'))) {
        while (!Take('\n')) Advance();
      } else if (Peek() == ' ' || Peek() == '\t' || Peek() == '\r' || (lines && Peek() == '\n')) {
        Advance();
      } else {
        return;
      }
    }
  }

  std::string TakeName() {
    std::string name;
    while (!AtEnd() && IsNameRest(Peek())) {
      name += Peek();
      Advance();
    }
    return name;
  }

  std::string RestOfLine() const {
    return std::string(text_.substr(at_, text_.find('\n', at_) - at_));
  }

  template <typename... Args>
  Error Wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return MakeError(ErrorCode::kBadData, "{}:{}: {}", file_, line_,
                     fmt::format(format, std::forward<Args>(args)...));
  }

  const std::string& file() const { return file_; }
  int line() const { return line_; }

 private:
  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  int line_ = 1;
};

// Python literals, and gin's references among them.
class ValueParser {
 public:
  explicit ValueParser(Cursor* cursor) : cursor_(*cursor) {}

  Result<GinValue> Parse(int depth = 0) {
    cursor_.SkipBlanks(depth > 0);
    if (depth > kMaxDepth) return cursor_.Wrong("brackets are nested deeper than {}", kMaxDepth);
    char c = cursor_.Peek();
    if (c == '[') return ParseList('[', ']', depth);
    if (c == '(') return ParseList('(', ')', depth);
    if (c == '{') return ParseDict(depth);
    if (c == '\'' || c == '"') return ParseStrings(depth);
    if (c == '@' || c == '%') return ParseReference();
    if (IsDigit(c) || c == '-' || c == '+' || c == '.') return ParseNumber();
    if (IsNameStart(c)) return ParseWord();
    if (cursor_.AtEnd() || c == '\n') return cursor_.Wrong("a value is missing");
    return cursor_.Wrong("a value can't begin with '{}'", c);
  }

 private:
  Result<GinValue> ParseList(char open, char close, int depth) {
    int begin = cursor_.line();
    cursor_.Advance();
    GinList list;
    bool comma = false;
    for (;;) {
      cursor_.SkipBlanks(true);
      if (cursor_.Take(close)) break;
      if (cursor_.AtEnd()) return cursor_.Wrong("'{}' of line {} is never closed", open, begin);
      if (!list.empty() && !comma) return cursor_.Wrong("a comma is missing between values");
      HSTU_ASSIGN_OR_RETURN(GinValue value, Parse(depth + 1));
      list.push_back(std::move(value));
      cursor_.SkipBlanks(true);
      comma = cursor_.Take(',');
    }
    if (open == '(' && list.size() == 1 && !comma) return std::move(list.front());  // just brackets
    return GinValue{std::move(list)};
  }

  Result<GinValue> ParseDict(int depth) {
    int begin = cursor_.line();
    cursor_.Advance();
    GinDict dict;
    bool comma = true;
    for (;;) {
      cursor_.SkipBlanks(true);
      if (cursor_.Take('}')) return GinValue{std::move(dict)};
      if (cursor_.AtEnd()) return cursor_.Wrong("'{{' of line {} is never closed", begin);
      if (!comma) return cursor_.Wrong("a comma is missing between values");
      HSTU_ASSIGN_OR_RETURN(GinValue key, Parse(depth + 1));
      cursor_.SkipBlanks(true);
      if (!cursor_.Take(':')) return cursor_.Wrong("a ':' is missing after a key");
      HSTU_ASSIGN_OR_RETURN(GinValue value, Parse(depth + 1));
      dict.keys.push_back(std::move(key));
      dict.values.push_back(std::move(value));
      cursor_.SkipBlanks(true);
      comma = cursor_.Take(',');
    }
  }

  // Strings side by side are one, as in Python.
  Result<GinValue> ParseStrings(int depth) {
    std::string joined;
    while (cursor_.Peek() == '\'' || cursor_.Peek() == '"') {
      HSTU_RETURN_IF_ERROR(ParseString(&joined));
      cursor_.SkipBlanks(depth > 0);
    }
    return GinValue{std::move(joined)};
  }

  Status ParseString(std::string* to) {
    int begin = cursor_.line();
    char quote = cursor_.Peek();
    bool triple = cursor_.Peek(1) == quote && cursor_.Peek(2) == quote;
    for (int i = 0; i < (triple ? 3 : 1); ++i) cursor_.Advance();
    for (;;) {
      char c = cursor_.Peek();
      if (cursor_.AtEnd() || (c == '\n' && !triple)) {
        return cursor_.Wrong("the string of line {} is never closed", begin);
      }
      bool closes =
          c == quote && (!triple || (cursor_.Peek(1) == quote && cursor_.Peek(2) == quote));
      if (closes) break;
      cursor_.Advance();
      to->push_back(c == '\\' && !cursor_.AtEnd() ? TakeEscaped() : c);
    }
    for (int i = 0; i < (triple ? 3 : 1); ++i) cursor_.Advance();
    return {};
  }

  char TakeEscaped() {
    char c = cursor_.Peek();
    cursor_.Advance();
    if (c == 'n') return '\n';
    return c == 't' ? '\t' : c;
  }

  Result<GinValue> ParseReference() {
    GinReference reference{std::string(1, cursor_.Peek())};
    cursor_.Advance();
    std::string name = cursor_.TakeName();
    if (name.empty()) return cursor_.Wrong("a name is missing after '{}'", reference.name);
    reference.name += name;
    if (cursor_.Take('(') && !cursor_.Take(')')) {
      return cursor_.Wrong("{}( is not followed by ')'", reference.name);
    }
    return GinValue{std::move(reference)};
  }

  Result<GinValue> ParseNumber() {
    std::string text;
    auto part_of_number = [&] {
      char c = cursor_.Peek();
      bool sign =
          (c == '-' || c == '+') && (text.empty() || text.back() == 'e' || text.back() == 'E');
      return sign || IsDigit(c) || c == '.' || c == '_' || c == 'e' || c == 'E';
    };
    while (!cursor_.AtEnd() && part_of_number()) {
      if (cursor_.Peek() != '_') text += cursor_.Peek();  // 10_000_000
      cursor_.Advance();
    }
    std::string_view digits = text;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const char* end = digits.data() + digits.size();
    std::int64_t integer;
    if (auto [at, error] = std::from_chars(digits.data(), end, integer);
        error == std::errc() && at == end) {
      return GinValue{integer};
    }
    double number;
    if (auto [at, error] = std::from_chars(digits.data(), end, number);
        error == std::errc() && at == end) {
      return GinValue{number};
    }
    return cursor_.Wrong("\"{}\" is no number", text.substr(0, 40));
  }

  Result<GinValue> ParseWord() {
    std::string word = cursor_.TakeName();
    if (word == "True") return GinValue{true};
    if (word == "False") return GinValue{false};
    if (word == "None") return GinValue{};
    return cursor_.Wrong("{} is no value; strings need quotes, macros a %", word.substr(0, 40));
  }

  Cursor& cursor_;
};

Result<std::string> ReadText(const std::string& path) {
  HSTU_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  std::string text;
  std::string buffer(64 << 10, '\0');
  for (;;) {
    HSTU_ASSIGN_OR_RETURN(std::size_t got, file.Read(buffer.data(), buffer.size()));
    if (got == 0) return text;
    text.append(buffer, 0, got);
    if (text.size() > kMaxFileBytes) {
      return MakeError(ErrorCode::kBadData, "{} has more than {} bytes; is it a gin file?", path,
                       kMaxFileBytes);
    }
  }
}

class GinReader {
 public:
  Status ReadFile(const std::string& path, int depth) {
    HSTU_ASSIGN_OR_RETURN(std::string text, ReadText(path));
    return ReadStatements(text, path, depth, /*may_include=*/true);
  }

  Status ReadStatements(std::string_view text, const std::string& file, int depth,
                        bool may_include) {
    Cursor cursor(text, file);
    for (;;) {
      cursor.SkipBlanks(true);
      if (cursor.AtEnd()) return {};
      int line = cursor.line();
      if (!IsNameStart(cursor.Peek())) {
        return cursor.Wrong("a binding such as NetworkArgs.num_layers = 3 is needed, not \"{}\"",
                            cursor.RestOfLine().substr(0, 40));
      }
      std::string name = cursor.TakeName();
      cursor.SkipBlanks(false);
      if (name == "import" || (name == "from" && cursor.Peek() != '=')) {
        while (!cursor.AtEnd() && cursor.Peek() != '\n') cursor.Advance();
        continue;
      }
      if (name == "include" && cursor.Peek() != '=') {
        HSTU_RETURN_IF_ERROR(Include(&cursor, depth, may_include));
      } else {
        HSTU_RETURN_IF_ERROR(Bind(&cursor, std::move(name), line));
      }
      cursor.SkipBlanks(false);
      if (!cursor.AtEnd() && !cursor.Take('\n')) {
        return cursor.Wrong("the line goes on after its value: \"{}\"",
                            cursor.RestOfLine().substr(0, 40));
      }
    }
  }

  Result<GinFile> Finish() {
    GinFile result;
    for (GinBinding& binding : bindings_) {
      HSTU_RETURN_IF_ERROR(FillMacros(&binding.value, binding, 0));
      result.bindings.push_back(std::move(binding));
    }
    return result;
  }

 private:
  Status Include(Cursor* cursor, int depth, bool may_include) {
    HSTU_ASSIGN_OR_RETURN(GinValue value, ValueParser(cursor).Parse());
    const auto* name = std::get_if<std::string>(&value.value);
    if (name == nullptr) return cursor->Wrong("include needs a file name in quotes");
    if (!may_include) return cursor->Wrong("a text can't include {}", *name);
    if (depth >= kMaxDepth) {
      return cursor->Wrong("includes are nested deeper than {}; does a file include itself?",
                           kMaxDepth);
    }
    std::filesystem::path beside = std::filesystem::path(cursor->file()).parent_path() / *name;
    for (const std::filesystem::path& path : {beside, std::filesystem::path(*name)}) {
      if (std::filesystem::is_regular_file(path)) return ReadFile(path.string(), depth + 1);
    }
    return cursor->Wrong("the included {} is neither at {} nor in the current folder", *name,
                         beside.string());
  }

  Status Bind(Cursor* cursor, std::string name, int line) {
    if (!cursor->Take('=')) {
      return cursor->Wrong("an '=' is missing after {}", name.substr(0, 80));
    }
    HSTU_ASSIGN_OR_RETURN(GinValue value, ValueParser(cursor).Parse());
    GinBinding binding{std::move(name), std::move(value), cursor->file(), line};
    if (binding.key.find('.') == std::string::npos) {
      macros_[binding.key] = binding.value;
    } else {
      bindings_.push_back(std::move(binding));
    }
    return {};
  }

  Status FillMacros(GinValue* value, const GinBinding& binding, int depth) {
    auto wrong = [&](const std::string& what) {
      return MakeError(ErrorCode::kBadData, "{}:{}: {}", binding.file, binding.line, what);
    };
    if (depth > kMaxDepth) return wrong("macros are nested too deep; does one use itself?");
    if (auto* list = std::get_if<GinList>(&value->value)) {
      for (GinValue& element : *list) {
        HSTU_RETURN_IF_ERROR(FillMacros(&element, binding, depth + 1));
      }
    }
    const auto* reference = std::get_if<GinReference>(&value->value);
    if (reference == nullptr || !reference->name.starts_with('%')) return {};
    auto macro = macros_.find(reference->name.substr(1));
    if (macro == macros_.end()) return wrong("there is no macro " + reference->name);
    if (++filled_ > kMaxFilled) return wrong("macros make too many values");
    *value = macro->second;
    return FillMacros(value, binding, depth + 1);
  }

  static constexpr int kMaxFilled = 10000;  // macros that use macros twice grow without bound
  std::vector<GinBinding> bindings_;
  std::map<std::string, GinValue> macros_;
  int filled_ = 0;
};

}  // namespace

const GinBinding* GinFile::Find(std::string_view key) const {
  auto found = std::find_if(bindings.rbegin(), bindings.rend(),
                            [key](const GinBinding& binding) { return binding.key == key; });
  return found == bindings.rend() ? nullptr : &*found;
}

Result<GinFile> ReadGin(const std::string& path) {
  GinReader reader;
  HSTU_RETURN_IF_ERROR(reader.ReadFile(path, 0));
  return reader.Finish();
}

Result<GinFile> ParseGin(std::string_view text, const std::string& name) {
  GinReader reader;
  HSTU_RETURN_IF_ERROR(reader.ReadStatements(text, name, 0, /*may_include=*/false));
  return reader.Finish();
}

}  // namespace hstu
