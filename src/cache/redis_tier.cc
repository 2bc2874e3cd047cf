#include "cache/redis_tier.h"

#include <hiredis/hiredis.h>

#include <charconv>
#include <set>

#include "base/error.h"

namespace hstu {
namespace {

constexpr timeval kConnectTimeout{0, 200'000};
constexpr timeval kCommandTimeout{2, 0};
// After a failure requests don't wait for a server that is away.
constexpr std::chrono::seconds kRetryAfter(2);

constexpr size_t kMostVersions = 1 << 20;

Error UrlError(const std::string& url) {
  return MakeError(ErrorCode::kBadArgument, "redis {}: give redis://HOST[:PORT][/DATABASE]", url);
}

bool ParseNumber(std::string_view text, int max, int* number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return failed == std::errc() && end == text.data() + text.size() && *number >= 0 &&
         *number <= max;
}

}  // namespace

void RedisTier::Free::operator()(redisContext* context) const { redisFree(context); }
void RedisTier::Free::operator()(redisReply* reply) const { freeReplyObject(reply); }

Result<std::unique_ptr<RedisTier>> RedisTier::Make(const std::string& url, std::string identity) {
  constexpr std::string_view kScheme = "redis://";
  std::string_view rest = url;
  if (!rest.starts_with(kScheme)) return UrlError(url);
  rest.remove_prefix(kScheme.size());
  int port = 6379;
  int database = 0;
  if (const size_t slash = rest.find('/'); slash != std::string_view::npos) {
    const std::string_view number = rest.substr(slash + 1);
    if (!number.empty() && !ParseNumber(number, 1 << 20, &database)) return UrlError(url);
    rest = rest.substr(0, slash);
  }
  if (const size_t colon = rest.rfind(':'); colon != std::string_view::npos) {
    if (!ParseNumber(rest.substr(colon + 1), 65535, &port)) return UrlError(url);
    rest = rest.substr(0, colon);
  }
  if (rest.empty()) return UrlError(url);
  return std::unique_ptr<RedisTier>(
      new RedisTier(std::string(rest), port, database, std::move(identity)));
}

RedisTier::RedisTier(std::string host, int port, int database, std::string identity)
    : host_(std::move(host)),
      port_(port),
      database_(database),
      prefix_("hstu:" + std::move(identity) + ":") {}
RedisTier::~RedisTier() = default;

std::string RedisTier::HeaderKey(const std::string& user_id) const {
  return prefix_ + "h:" + user_id;
}

std::string RedisTier::PartKey(const std::string& user_id, uint64_t id) const {
  return prefix_ + fmt::format("p:{:016x}:", id) + user_id;
}

Status RedisTier::Connect() {
  const auto now = std::chrono::steady_clock::now();
  if (now < retry_) {
    return MakeError(ErrorCode::kIo, "redis {}:{}: away; tried again within {} s", host_, port_,
                     kRetryAfter.count());
  }
  context_.reset(redisConnectWithTimeout(host_.c_str(), port_, kConnectTimeout));
  if (context_ == nullptr || context_->err != 0) {
    const std::string why = context_ == nullptr ? "no memory" : context_->errstr;
    context_.reset();
    retry_ = now + kRetryAfter;
    return MakeError(ErrorCode::kIo, "redis {}:{}: {}", host_, port_, why);
  }
  redisSetTimeout(context_.get(), kCommandTimeout);
  if (database_ == 0) return {};
  const Reply reply(static_cast<redisReply*>(redisCommand(context_.get(), "SELECT %d", database_)));
  if (reply != nullptr && reply->type != REDIS_REPLY_ERROR) return {};
  context_.reset();
  retry_ = now + kRetryAfter;
  return MakeError(ErrorCode::kIo, "redis {}:{}: it has no database {}", host_, port_, database_);
}

Result<RedisTier::Reply> RedisTier::Command(const std::vector<std::string_view>& words) {
  std::vector<const char*> texts;
  std::vector<size_t> sizes;
  for (const std::string_view word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  const std::lock_guard lock(mutex_);
  if (context_ == nullptr) HSTU_RETURN_IF_ERROR(Connect());
  Reply reply(static_cast<redisReply*>(redisCommandArgv(
      context_.get(), static_cast<int>(words.size()), texts.data(), sizes.data())));
  if (reply == nullptr) {  // the connection is of no more use
    const std::string why = context_->errstr;
    context_.reset();
    retry_ = std::chrono::steady_clock::now() + kRetryAfter;
    return MakeError(ErrorCode::kIo, "redis {}:{}: {}", host_, port_, why);
  }
  if (reply->type == REDIS_REPLY_ERROR) {
    return MakeError(ErrorCode::kIo, "redis {}:{}: {}", host_, port_, reply->str);
  }
  return reply;
}

Result<std::optional<std::string>> RedisTier::ReadHeader(const std::string& user_id) {
  bool stale = false;
  {
    const std::lock_guard lock(pending_mutex_);
    stale = stale_.contains(user_id);
  }
  if (stale) HSTU_RETURN_IF_ERROR(EraseNow(user_id));
  HSTU_ASSIGN_OR_RETURN(std::optional<std::string> text, GetHeader(user_id));
  const std::optional<StateHeader> header = text ? ParseHeader(*text) : std::nullopt;
  if (header) Remember(user_id, header->version);
  return text;
}

Result<std::optional<std::string>> RedisTier::GetHeader(const std::string& user_id) {
  HSTU_ASSIGN_OR_RETURN(const Reply reply, Command({"GET", HeaderKey(user_id)}));
  if (reply->type != REDIS_REPLY_STRING) return std::optional<std::string>();
  return std::optional(std::string(reply->str, reply->len));
}

Result<std::optional<PartBytes>> RedisTier::ReadPart(const std::string& user_id,
                                                     const StatePart& part) {
  HSTU_ASSIGN_OR_RETURN(Reply reply, Command({"GET", PartKey(user_id, part.id)}));
  if (reply->type != REDIS_REPLY_STRING) return std::optional<PartBytes>();
  const std::shared_ptr<redisReply> owner = std::move(reply);
  return std::optional(PartBytes{std::as_bytes(std::span(owner->str, owner->len)), owner});
}

// Asks nobody: it is called while an answer is waited for.
bool RedisTier::Holds(const std::string& user_id, uint64_t version) {
  const std::lock_guard lock(pending_mutex_);
  const auto found = versions_.find(user_id);
  return found != versions_.end() && found->second == version;
}

void RedisTier::Remember(const std::string& user_id, uint64_t version) {
  const std::lock_guard lock(pending_mutex_);
  if (versions_.size() >= kMostVersions) versions_.clear();  // costs writing states again
  versions_[user_id] = version;
  stale_.erase(user_id);
}

Status RedisTier::WritePart(const std::string& user_id, const StatePart& part,
                            const PartBytes& bytes) {
  const std::string_view value(reinterpret_cast<const char*>(bytes.bytes.data()),
                               bytes.bytes.size());
  HSTU_ASSIGN_OR_RETURN(const Reply reply, Command({"SET", PartKey(user_id, part.id), value}));
  const std::lock_guard lock(pending_mutex_);
  pending_[user_id].push_back(part.id);
  return {};
}

Status RedisTier::Commit(const StateHeader& header) {
  std::set<uint64_t> old = TakePending(header.user_id);
  const std::string key = HeaderKey(header.user_id);
  const std::string text = SerializeHeader(header);
  HSTU_ASSIGN_OR_RETURN(const Reply last, Command({"GETSET", key, text}));
  if (last->type == REDIS_REPLY_STRING) {
    if (const auto before = ParseHeader({last->str, last->len})) {
      for (const StatePart& part : before->parts) old.insert(part.id);
    }
  }
  Remember(header.user_id, header.version);
  for (const StatePart& part : header.parts) old.erase(part.id);
  for (const uint64_t id : old) {
    HSTU_ASSIGN_OR_RETURN(const Reply gone, Command({"UNLINK", PartKey(header.user_id, id)}));
  }
  return {};
}

// Until it is done the user's state is none: it may be of another stream by now.
void RedisTier::Erase(const std::string& user_id) {
  const bool done = EraseNow(user_id).ok();
  const std::lock_guard lock(pending_mutex_);
  versions_.erase(user_id);
  if (!done) stale_.insert(user_id);
}

Status RedisTier::EraseNow(const std::string& user_id) {
  std::set<uint64_t> old = TakePending(user_id);
  HSTU_ASSIGN_OR_RETURN(const std::optional<std::string> text, GetHeader(user_id));
  if (text) {
    HSTU_ASSIGN_OR_RETURN(const Reply gone, Command({"UNLINK", HeaderKey(user_id)}));
    if (const auto header = ParseHeader(*text)) {
      for (const StatePart& part : header->parts) old.insert(part.id);
    }
  }
  for (const uint64_t id : old) {
    HSTU_ASSIGN_OR_RETURN(const Reply gone, Command({"UNLINK", PartKey(user_id, id)}));
  }
  const std::lock_guard lock(pending_mutex_);
  stale_.erase(user_id);
  return {};
}

std::set<uint64_t> RedisTier::TakePending(const std::string& user_id) {
  const std::lock_guard lock(pending_mutex_);
  const auto found = pending_.find(user_id);
  if (found == pending_.end()) return {};
  std::set<uint64_t> ids(found->second.begin(), found->second.end());
  pending_.erase(found);
  return ids;
}

}  // namespace hstu
