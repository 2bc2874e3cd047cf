// Users who keep something beside their pages are as bounded as pages are.
#include <gmock/gmock.h>

#include <numeric>
#include <string>
#include <vector>

#include "cache/kv_cache.h"

namespace hstu {
namespace {

constexpr int64_t kPage = 32;
constexpr int64_t kPages = 64;

KvModelShape Int8() {
  KvModelShape shape;
  shape.stages = {{2, {}}};
  shape.heads = 2;
  shape.dim = 16;
  shape.hidden_size = 32;
  shape.max_history_tokens = 1024;
  shape.dtype = KvDType::kInt8;
  return shape;
}

class UserBound : public testing::Test {
 protected:
  UserBound() : cache_(PagePool::Make(MakeKvLayout(Int8(), kPage, kPages).value()).value()) {}

  int64_t most() const { return cache_.pool().layout().users; }
  int64_t free_pages() const { return cache_.pool().free_pages(0, 0); }

  // Pins the user.
  UserState* Add(int64_t number, int64_t count = 10) {
    std::vector<int64_t> tokens(count);
    std::iota(tokens.begin(), tokens.end(), number);
    return cache_.Restart(Name(number), {0, tokens, 0}, 0);
  }
  void AddUnpinned(int64_t number, int64_t count = 10) {
    UserState* user = Add(number, count);
    ASSERT_NE(user, nullptr);
    KvCache::Unpin(user);
  }
  bool Knows(int64_t number) const { return cache_.Find(Name(number)) != nullptr; }
  static std::string Name(int64_t number) { return "u" + std::to_string(number); }

  KvCache cache_;
};

TEST_F(UserBound, TheLeastRecentlyUsedGoesThoughThereArePages) {
  ASSERT_GT(most(), 2);
  ASSERT_LT(most(), kPages);
  for (int64_t i = 0; i < most(); ++i) AddUnpinned(i);
  AddUnpinned(0);  // used again
  const int64_t pages = free_pages();
  AddUnpinned(most());
  EXPECT_EQ(cache_.num_users(), most());
  EXPECT_EQ(free_pages(), pages);
  EXPECT_TRUE(Knows(0));
  EXPECT_FALSE(Knows(1));
  for (int64_t i = 2; i <= most(); ++i) EXPECT_TRUE(Knows(i));
  EXPECT_EQ(cache_.counters().users_evicted, 1);
}

TEST_F(UserBound, PinnedUsersStayAndANewOneWaits) {
  std::vector<UserState*> pinned;
  for (int64_t i = 0; i < most(); ++i) pinned.push_back(Add(i));
  const int64_t pages = free_pages();
  EXPECT_EQ(Add(most()), nullptr);
  StateHeader header;
  header.user_id = Name(most());
  header.stages = {{0, 1}};
  header.tokens = {5};
  EXPECT_EQ(cache_.Adopt(header), nullptr);
  EXPECT_EQ(cache_.num_users(), most());
  EXPECT_EQ(free_pages(), pages);
  EXPECT_EQ(cache_.counters().users_evicted, 0);
  // One who is known takes nobody's place.
  KvCache::Unpin(pinned[0]);
  EXPECT_EQ(Add(0, 20), pinned[0]);
  KvCache::Unpin(pinned[1]);
  EXPECT_NE(Add(most()), nullptr);
  EXPECT_FALSE(Knows(1));
  EXPECT_EQ(cache_.num_users(), most());
}

// There is room for the user, but not for the pages.
TEST_F(UserBound, AnAttemptThatFailsLeavesNobody) {
  AddUnpinned(0, 1);
  ASSERT_NE(Add(1, 1024), nullptr);
  ASSERT_NE(Add(2, 600), nullptr);
  const int64_t pages = free_pages();
  ASSERT_LT(cache_.num_users(), most());
  EXPECT_EQ(Add(3, 1024), nullptr);
  EXPECT_FALSE(Knows(3));
  EXPECT_EQ(cache_.num_users(), 2);  // one was evicted in vain
  EXPECT_EQ(free_pages(), pages + 1);
}

}  // namespace
}  // namespace hstu
