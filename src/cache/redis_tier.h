// States in a Redis server, which processes share. The server bounds and evicts by itself
// (maxmemory, allkeys-lru); a state that lost a part is a miss.
#ifndef HSTU_CACHE_REDIS_TIER_H_
#define HSTU_CACHE_REDIS_TIER_H_

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

#include "cache/tier.h"

struct redisContext;
struct redisReply;

namespace hstu {

class RedisTier : public Tier {
 public:
  // `url`: redis://HOST[:PORT][/DATABASE]. Keys begin with hstu:`identity`:, so models don't meet.
  // Connects when first used: a server that isn't there is a miss and an error to count. Errors
  // (kBadArgument): an URL of another form.
  static Result<std::unique_ptr<RedisTier>> Make(const std::string& url, std::string identity);
  ~RedisTier() override;

  const char* name() const override { return "redis"; }
  Result<std::optional<std::string>> ReadHeader(const std::string& user_id) override;
  Result<std::optional<PartBytes>> ReadPart(const std::string& user_id,
                                            const StatePart& part) override;
  bool Holds(const std::string& user_id, uint64_t version) override;
  Status WritePart(const std::string& user_id, const StatePart& part,
                   const PartBytes& bytes) override;
  Status Commit(const StateHeader& header) override;
  void Erase(const std::string& user_id) override;
  TierUsage usage() const override { return {}; }  // which the server knows, of all processes
  std::vector<std::string> Users() const override { return {}; }

 private:
  struct Free {
    void operator()(redisContext* context) const;
    void operator()(redisReply* reply) const;
  };
  using Reply = std::unique_ptr<redisReply, Free>;

  RedisTier(std::string host, int port, int database, std::string identity);
  Status Connect();
  Status EraseNow(const std::string& user_id);
  Result<std::optional<std::string>> GetHeader(const std::string& user_id);
  void Remember(const std::string& user_id, uint64_t version);
  std::set<uint64_t> TakePending(const std::string& user_id);
  Result<Reply> Command(const std::vector<std::string_view>& words);
  std::string HeaderKey(const std::string& user_id) const;
  std::string PartKey(const std::string& user_id, uint64_t id) const;

  const std::string host_;
  const int port_;
  const int database_;
  const std::string prefix_;
  std::mutex mutex_;  // of the connection, one command at a time
  std::unique_ptr<redisContext, Free> context_;
  std::chrono::steady_clock::time_point retry_;  // no attempt to connect before
  std::mutex pending_mutex_;
  std::map<std::string, std::vector<uint64_t>> pending_;  // by user: parts without a header
  // Of users whose last commit or find was this process's: others may replace the state, which then
  // is found damaged and given up.
  std::unordered_map<std::string, uint64_t> versions_;
  std::set<std::string> stale_;  // users whose state couldn't be erased: no hits
};

}  // namespace hstu

#endif  // HSTU_CACHE_REDIS_TIER_H_
