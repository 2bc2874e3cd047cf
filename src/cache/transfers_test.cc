// Users of a pool, saved and brought back: what comes back are the bytes that left.
#include "cache/transfers.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <semaphore>

#include "base/test_files.h"
#include "cache/disk_tier.h"
#include "cache/host_tier.h"
#include "cache/kv_cache.h"

namespace hstu {
namespace {

constexpr int64_t kPage = 32;
constexpr int64_t kMiB = int64_t{1} << 20;

// A tier that fails when it is told to, and that damages what it gives.
class FailingTier : public HostTier {
 public:
  FailingTier() : HostTier(64 * kMiB) {}

  Result<std::optional<PartBytes>> ReadPart(const std::string& user_id,
                                            const StatePart& part) override {
    if (fail_reads) return Error{ErrorCode::kIo, "read error"};
    if (gate != nullptr && !gate->try_acquire_for(std::chrono::seconds(10))) {
      return Error{ErrorCode::kIo, "nobody opened the gate"};
    }
    Result<std::optional<PartBytes>> read = HostTier::ReadPart(user_id, part);
    const std::optional<PartBytes>& bytes = read.value();
    if (!flip_part_of_layer || part.layer != *flip_part_of_layer || !bytes) return bytes;
    PartBuffer flipped(part.bytes);
    std::memcpy(flipped.data.get(), bytes->bytes.data(), bytes->bytes.size());
    flipped.data[7] ^= std::byte{4};
    return std::optional(flipped.Share());
  }
  Status WritePart(const std::string& user_id, const StatePart& part,
                   const PartBytes& bytes) override {
    if (fail_writes) return Error{ErrorCode::kIo, "disk full"};
    return HostTier::WritePart(user_id, part, bytes);
  }

  std::atomic<bool> fail_reads = false;
  std::atomic<bool> fail_writes = false;
  std::counting_semaphore<>* gate = nullptr;  // which lets reads through; null: all
  std::optional<int64_t> flip_part_of_layer;
};

KvModelShape Shape() {
  KvModelShape shape;
  shape.stages = {Stage{3, {}}};
  shape.heads = 2;
  shape.dim = 8;
  shape.hidden_size = 16;
  shape.max_history_tokens = 512;
  return shape;
}

class TransfersTest : public testing::Test, public KvCacheWatcher {
 protected:
  TransfersTest()
      : cache_(std::move(PagePool::Make(MakeKvLayout(Shape(), kPage, 40).value()).value())) {
    cache_.SetWatcher(this);
  }

  void Use(std::vector<std::unique_ptr<Tier>> tiers) {
    transfers_.reset();
    transfers_ = std::make_unique<Transfers>(
        std::make_unique<TierStack>(std::move(tiers), "identity"), &cache_.pool(), 4, nullptr);
  }
  FailingTier* UseFailing() {
    std::vector<std::unique_ptr<Tier>> tiers;
    auto tier = std::make_unique<FailingTier>();
    FailingTier* raw = tier.get();
    tiers.push_back(std::move(tier));
    Use(std::move(tiers));
    return raw;
  }

  void WillEvict(const UserState& user) override { transfers_->SaveLeaving(user, true); }
  void WillForget(const UserState& user) override { transfers_->tiers().Erase(user.user_id); }
  void WillCut(UserState* user, bool edited) override {
    transfers_->WaitForSave(*user->saved);
    if (!edited) return;
    transfers_->tiers().Erase(user->user_id);
    user->saved->version = 0;
    user->saved->parts.clear();
  }

  // What a step does: tokens from the end of what is known on, and K and V that tell where they are
  // of. Full chunks are saved as it goes.
  UserState* Step(const std::string& user_id, int64_t end) {
    std::vector<int64_t> tokens(end);
    for (int64_t i = 0; i < end; ++i) tokens[i] = i + static_cast<int64_t>(user_id.size());
    const UserState* known = cache_.Find(user_id);
    const int64_t begin = known == nullptr ? 0 : known->count();
    const auto grow = [&] {
      return known == nullptr ? cache_.Restart(user_id, {0, tokens, 0}, 0)
                              : cache_.Extend(user_id, {0, tokens, 0}, StagePositions{begin});
    };
    UserState* user = grow();
    if (user == nullptr) {  // saves read all that could be evicted
      transfers_->Drain();
      user = grow();
    }
    transfers_->BeginSave(*user, {end});
    for (int64_t layer = 0; layer < 3; ++layer) {
      for (int64_t i = begin; i < end; ++i) *Slot(*user, layer, i) = Value(user_id, layer, i);
      transfers_->LayerDone(layer);
    }
    transfers_->EndStep();
    KvCache::Unpin(user);
    return user;
  }

  static float Value(const std::string& user_id, int64_t layer, int64_t position) {
    return static_cast<float>(position * 8 + layer) + static_cast<float>(user_id.back()) * 0.001f;
  }

  // A float of the position's own in a page of keys.
  float* Slot(const UserState& user, int64_t layer, int64_t position) {
    const KvLayout& layout = cache_.pool().layout();
    const UserStage& stage = user.stages[0];
    const int32_t page = stage.table[position / kPage - stage.first / kPage];
    return reinterpret_cast<float*>(cache_.pool().keys() + layout.key_offsets[layer] +
                                    page * layout.page.KeyPageBytes()) +
           position % kPage;
  }

  bool Holds(const UserState& user) {
    for (int64_t layer = 0; layer < 3; ++layer) {
      for (int64_t i = user.first(); i < user.count(); ++i) {
        if (*Slot(user, layer, i) != Value(user.user_id, layer, i)) return false;
      }
    }
    return true;
  }

  void Evict(const std::string& user_id) {
    transfers_->WaitForSave(*cache_.Find(user_id)->saved);
    WillEvict(*cache_.Find(user_id));
    cache_.Erase(user_id);
    // Another writes to its pages.
    const UserState* other = Step("other", 512);
    transfers_->WaitForSave(*other->saved);
    cache_.Erase("other");
  }

  // Null: no tier has it, or it failed on its way.
  UserState* Bring(const std::string& user_id) {
    const auto found = transfers_->Find(user_id, 0);
    if (!found) return nullptr;
    UserState* user = cache_.Adopt(found->header);
    if (user == nullptr) {
      transfers_->Drain();
      user = cache_.Adopt(found->header);
    }
    const auto arrival = transfers_->Bring(*found, *user, {user->count()});
    for (int64_t layer = 0; layer < 3; ++layer) {
      arrival->Wait(layer);
      if (arrival->failed()) break;
      for (int64_t i = user->first(); i < user->count(); ++i) {
        EXPECT_EQ(*Slot(*user, layer, i), Value(user_id, layer, i));
      }
    }
    arrival->WaitAll();
    KvCache::Unpin(user);
    if (!arrival->failed()) return user;
    cache_.Erase(user_id);
    return nullptr;
  }

  KvCache cache_;
  std::unique_ptr<Transfers> transfers_;
};

TEST_F(TransfersTest, AUserWhoLeftComesBackWithTheSameBytes) {
  UseFailing();
  for (const int64_t tokens : {1, 31, 32, 128, 129, 500}) {
    const std::string user = "u" + std::to_string(tokens);
    Step(user, tokens);
    Evict(user);
    const UserState* back = Bring(user);
    ASSERT_NE(back, nullptr) << tokens;
    EXPECT_EQ(back->count(), tokens);
    EXPECT_TRUE(Holds(*back));
    cache_.Erase(user);
  }
}

TEST_F(TransfersTest, FullChunksAreSavedBeforeTheUserLeaves) {
  const FailingTier* tier = UseFailing();
  Step("u", 300);
  transfers_->Drain();
  EXPECT_EQ(tier->usage().users, 1);
  cache_.Erase("u");  // as a killed process would
  const UserState* back = Bring("u");
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->count(), 256);
  EXPECT_TRUE(Holds(*back));
}

// What is saved is not written again.
TEST_F(TransfersTest, OnlyWhatIsNewIsWritten) {
  UseFailing();
  Step("u", 256);
  transfers_->Drain();
  const int64_t chunk = transfers_->tiers().counters()[0].bytes_written / 2;
  Step("u", 256 + 128);
  transfers_->Drain();
  EXPECT_EQ(transfers_->tiers().counters()[0].bytes_written, 3 * chunk);
  Step("u", 256 + 128 + 1);
  Evict("u");
  transfers_->Drain();
  // One page more; "other" has four chunks.
  EXPECT_EQ(transfers_->tiers().counters()[0].bytes_written, 3 * chunk + chunk / 4 + 4 * chunk);
  EXPECT_EQ(Bring("u")->count(), 385);
}

TEST_F(TransfersTest, AFlippedBitOrAReadErrorInAnyLayerIsNoState) {
  FailingTier* tier = UseFailing();
  for (int64_t layer = 0; layer < 4; ++layer) {
    Step("u", 200);
    Evict("u");
    tier->flip_part_of_layer = layer < 3 ? std::optional(layer) : std::nullopt;
    tier->fail_reads = layer == 3;
    EXPECT_EQ(Bring("u"), nullptr);
    EXPECT_EQ(Bring("u"), nullptr) << "the tier forgot it";
    tier->fail_reads = false;
    tier->flip_part_of_layer.reset();
  }
  const TierCounters counters = transfers_->tiers().counters()[0];
  EXPECT_EQ(counters.damaged, 3);
  EXPECT_EQ(counters.errors, 1);
  EXPECT_EQ(transfers_->counters().arrivals_failed, 4);
}

// A step writes to the page that the user's tokens end in while the layer's other pages come.
TEST_F(TransfersTest, NewTokensAreWrittenBeforeTheirLayerIsIn) {
  FailingTier* tier = UseFailing();
  Step("u", 300);
  Evict("u");
  const auto found = transfers_->Find("u", 0);
  UserState* user = cache_.Adopt(found->header);
  std::counting_semaphore<> gate(0);
  tier->gate = &gate;
  const auto arrival = transfers_->Bring(*found, *user, {user->count()});
  for (int64_t layer = 0; layer < 3; ++layer) {
    gate.release(1);  // of three parts a layer
    arrival->WaitToWrite(layer);
    *Slot(*user, layer, 300) = 17.0f;
    gate.release(2);
    arrival->Wait(layer);
    EXPECT_EQ(*Slot(*user, layer, 300), 17.0f);
    EXPECT_EQ(*Slot(*user, layer, 299), Value("u", layer, 299));
    EXPECT_EQ(*Slot(*user, layer, 0), Value("u", layer, 0));
  }
  arrival->WaitAll();
  EXPECT_FALSE(arrival->failed());
  KvCache::Unpin(user);
}

TEST_F(TransfersTest, AFailedSaveIsAMissAndNoMore) {
  FailingTier* tier = UseFailing();
  tier->fail_writes = true;
  UserState* user = Step("u", 300);
  Evict("u");
  EXPECT_EQ(Bring("u"), nullptr);
  tier->fail_writes = false;
  user = Step("u", 300);
  Evict("u");
  user = Bring("u");
  ASSERT_NE(user, nullptr);
  EXPECT_EQ(user->count(), 300);
}

// A tier that lost the user gets all of it again, from the pool.
TEST_F(TransfersTest, ATierThatLostAUserGetsItWhole) {
  std::vector<std::unique_ptr<Tier>> tiers;
  tiers.push_back(std::make_unique<HostTier>(64 * kMiB));
  tiers.push_back(std::make_unique<FailingTier>());
  auto* first = tiers[0].get();
  auto* second = tiers[1].get();
  Use(std::move(tiers));
  Step("u", 300);
  transfers_->Drain();
  first->Erase("u");
  Evict("u");
  transfers_->Drain();
  second->Erase("u");
  const UserState* back = Bring("u");
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->count(), 300);
  Evict("u");
  transfers_->Drain();
  first->Erase("u");
  ASSERT_NE(Bring("u"), nullptr) << "what came from the first tier went to the second";
}

// Steps, evictions and returns on a pool that holds two users; run under ThreadSanitizer.
TEST_F(TransfersTest, UsersComeAndGoOnATinyPool) {
  const TestFolder folder;
  std::vector<std::unique_ptr<Tier>> tiers;
  tiers.push_back(std::make_unique<HostTier>(kMiB));
  tiers.push_back(std::move(DiskTier::Open(folder / "disk", 32 * kMiB)).value());
  Use(std::move(tiers));
  std::mt19937 random(1);
  std::map<std::string, int64_t> counts;
  int64_t brought = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string user_id = "u" + std::to_string(random() % 9);
    if (cache_.Find(user_id) == nullptr && Bring(user_id) != nullptr) ++brought;
    const UserState* known = cache_.Find(user_id);
    const int64_t count = known == nullptr ? 0 : known->count();
    EXPECT_TRUE(known == nullptr || Holds(*known));
    counts[user_id] = std::min<int64_t>(512, count + 1 + static_cast<int64_t>(random() % 200));
    if (counts[user_id] == count) continue;
    EXPECT_TRUE(Holds(*Step(user_id, counts[user_id])));
  }
  EXPECT_GT(brought, 100);
}

}  // namespace
}  // namespace hstu
