// What every tier promises, and what each does when its device fails.
#include "cache/tier.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/hash.h"
#include "base/test_files.h"
#include "cache/disk_tier.h"
#include "cache/host_tier.h"
#include "cache/redis_server.h"
#include "cache/redis_tier.h"

namespace hstu {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

PartBuffer Bytes(uint64_t seed, int64_t size) {
  PartBuffer buffer(size);
  for (int64_t i = 0; i < size; ++i) {
    buffer.data[i] = static_cast<std::byte>((seed * 31 + static_cast<uint64_t>(i)) % 251);
  }
  return buffer;
}

// Writes a part and names it in the header.
Status AddPart(Tier* tier, int64_t layer, int64_t size, StateHeader* header) {
  StatePart part{layer, 0, 1, size, 0, UniqueNumber()};
  const PartBuffer bytes = Bytes(part.id, size);
  part.checksum = Checksum(bytes.Share().bytes);
  header->parts.push_back(part);
  return tier->WritePart(header->user_id, part, bytes.Share());
}

StateHeader HeaderOf(const std::string& user_id, int64_t tokens) {
  StateHeader header{"identity", user_id, UniqueNumber(), 2, {{0, tokens}, {0, 3}},
                     {},         {1.5f},  {std::byte{3}}, {}};
  for (int64_t i = 0; i < tokens; ++i) header.tokens.push_back(i * i);
  return header;
}

StateHeader Save(Tier* tier, const std::string& user_id, int64_t size = 5000) {
  StateHeader header = HeaderOf(user_id, 40);
  for (int64_t layer = 0; layer < 3; ++layer) (void)AddPart(tier, layer, size, &header);
  (void)tier->Commit(header);
  return header;
}

std::optional<StateHeader> Find(Tier* tier, const std::string& user_id) {
  const auto text = tier->ReadHeader(user_id);
  if (!text.ok() || !text.value()) return std::nullopt;
  return ParseHeader(*text.value());
}

bool ReadsWhole(Tier* tier, const StateHeader& header) {
  for (const StatePart& part : header.parts) {
    const auto bytes = tier->ReadPart(header.user_id, part);
    if (!bytes.ok() || !bytes.value()) return false;
    if (Checksum(bytes.value()->bytes) != part.checksum) return false;
  }
  return true;
}

// Whether what is kept of the user is whole, where anything is.
bool IsKept(Tier* tier, const std::string& user_id) {
  const auto header = Find(tier, user_id);
  return header && header->user_id == user_id && ReadsWhole(tier, *header);
}

std::unique_ptr<DiskTier> OpenDisk(const std::string& folder, int64_t bytes = 64 * kMiB) {
  Result<std::unique_ptr<DiskTier>> tier = DiskTier::Open(folder, bytes);
  EXPECT_TRUE(tier.ok()) << tier.error().message;
  return std::move(tier).value();
}

TEST(StateHeader, ComesBackAndTellsEveryFlippedBit) {
  HostTier tier(kMiB);
  const StateHeader header = Save(&tier, "u");
  const std::string text = SerializeHeader(header);
  EXPECT_EQ(ParseHeader(text), header);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string flipped = text;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    EXPECT_FALSE(ParseHeader(flipped).has_value()) << i;
    EXPECT_FALSE(ParseHeader(text.substr(0, i)).has_value()) << i;
  }
}

class EveryTier : public testing::TestWithParam<const char*> {
 protected:
  EveryTier() {
    const std::string name = GetParam();
    if (name == "host") tier_ = std::make_unique<HostTier>(64 * kMiB);
    if (name == "disk") tier_ = OpenDisk(folder_ / "disk");
    if (name == "redis") {
      server_ = std::make_unique<RedisServer>(folder_.path());
      tier_ = std::move(RedisTier::Make(server_->url(), "identity")).value();
    }
  }

  TestFolder folder_;
  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<Tier> tier_;
};
INSTANTIATE_TEST_SUITE_P(Tiers, EveryTier, testing::Values("host", "disk", "redis"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(EveryTier, GivesBackWhatWasCommitted) {
  const std::string strange("a\0b/\xff", 5);
  const StateHeader header = Save(tier_.get(), strange);
  EXPECT_EQ(Find(tier_.get(), strange), header);
  EXPECT_TRUE(ReadsWhole(tier_.get(), header));
  EXPECT_TRUE(tier_->Holds(strange, header.version));
  EXPECT_FALSE(tier_->Holds(strange, header.version + 1));
  EXPECT_FALSE(tier_->Holds("v", header.version));
  EXPECT_FALSE(Find(tier_.get(), "a").has_value());
}

TEST_P(EveryTier, KnowsNoStateBeforeItIsCommitted) {
  StateHeader header = HeaderOf("u", 9);
  ASSERT_TRUE(AddPart(tier_.get(), 0, 3000, &header).ok());
  EXPECT_FALSE(Find(tier_.get(), "u").has_value());
  ASSERT_TRUE(tier_->Commit(header).ok());
  EXPECT_TRUE(IsKept(tier_.get(), "u"));
}

// A state grows: parts that stay are not written again, parts that are replaced go.
TEST_P(EveryTier, ReplacesAStateByItsNewParts) {
  const StateHeader before = Save(tier_.get(), "u");
  StateHeader after = before;
  after.version = UniqueNumber();
  after.parts.pop_back();
  ASSERT_TRUE(AddPart(tier_.get(), 2, 7000, &after).ok());
  ASSERT_TRUE(IsKept(tier_.get(), "u"));  // still the old one
  EXPECT_EQ(Find(tier_.get(), "u"), before);
  ASSERT_TRUE(tier_->Commit(after).ok());
  EXPECT_EQ(Find(tier_.get(), "u"), after);
  EXPECT_TRUE(ReadsWhole(tier_.get(), after));
  const auto gone = tier_->ReadPart("u", before.parts.back());
  ASSERT_TRUE(gone.ok());
  EXPECT_FALSE(gone.value().has_value());
}

TEST_P(EveryTier, ForgetsAUserWhole) {
  const StateHeader header = Save(tier_.get(), "u");
  const StateHeader other = Save(tier_.get(), "uu");
  tier_->Erase("u");
  EXPECT_FALSE(Find(tier_.get(), "u").has_value());
  for (const StatePart& part : header.parts) {
    EXPECT_FALSE(tier_->ReadPart("u", part).value().has_value());
  }
  EXPECT_TRUE(ReadsWhole(tier_.get(), other));
}

TEST(HostTier, StaysWithinItsBoundAndKeepsTheLastUsed) {
  HostTier tier(100'000);
  for (int i = 0; i < 20; ++i) {
    Save(&tier, "u" + std::to_string(i));
    EXPECT_LE(tier.usage().bytes, 100'000);
    EXPECT_TRUE(IsKept(&tier, "u0")) << i;  // used after every other
  }
  EXPECT_FALSE(IsKept(&tier, "u1"));
  EXPECT_TRUE(IsKept(&tier, "u19"));
  EXPECT_GT(tier.usage().users_evicted, 0);
  StateHeader large = HeaderOf("large", 1);
  EXPECT_FALSE(AddPart(&tier, 0, 100'001, &large).ok());
}

TEST(DiskTier, IsWarmAfterARestart) {
  const TestFolder folder;
  StateHeader header;
  {
    const auto tier = OpenDisk(folder / "disk");
    for (int i = 0; i < 10; ++i) header = Save(tier.get(), "u" + std::to_string(i));
  }
  const auto tier = OpenDisk(folder / "disk");
  EXPECT_EQ(tier->usage().users, 10);
  EXPECT_TRUE(tier->Holds("u9", header.version));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(IsKept(tier.get(), "u" + std::to_string(i)));
}

TEST(DiskTier, ItsFilesStayWithinTheBound) {
  const TestFolder folder;
  const auto tier = OpenDisk(folder / "disk", DiskTier::kMinBytes);
  for (int i = 0; i < 160; ++i) {
    Save(tier.get(), "u" + std::to_string(i), 100'000);
    ASSERT_LE(tier->FileBytes(), DiskTier::kMinBytes) << i;
  }
  EXPECT_TRUE(IsKept(tier.get(), "u159"));
  EXPECT_GT(tier->usage().users, 10);
  EXPECT_FALSE(IsKept(tier.get(), "u0"));
}

TEST(DiskTier, RefusesABoundThatIsTooSmallAndAFolderInUse) {
  const TestFolder folder;
  EXPECT_THAT(DiskTier::Open(folder / "disk", 1000).error().message,
              HasSubstr("at least 16777216"));
  const auto tier = OpenDisk(folder / "disk");
  EXPECT_FALSE(DiskTier::Open(folder / "disk", 64 * kMiB).ok());
  folder.Write("file", "");
  EXPECT_FALSE(DiskTier::Open(folder / "file", 64 * kMiB).ok());
}

// Runs `body` in a process of its own, which may be killed; returns its wait status.
int InChild(const std::function<void()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

TEST(DiskTier, AProcessKilledWhileSavingLeavesWholeStatesOnly) {
  const TestFolder folder;
  for (const int kept : {0, 1, 2}) {
    const std::string disk = folder / std::to_string(kept);
    const int status = InChild([&] {
      const auto tier = OpenDisk(disk);
      Save(tier.get(), "done", 300'000);
      StateHeader torn = HeaderOf("torn", 40);
      for (int i = 0; i < kept; ++i) (void)AddPart(tier.get(), i, 300'000, &torn);
      kill(getpid(), SIGKILL);
    });
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto tier = OpenDisk(disk);
    EXPECT_TRUE(IsKept(tier.get(), "done"));
    EXPECT_FALSE(Find(tier.get(), "torn").has_value());
    EXPECT_EQ(tier->usage().users, 1);
    Save(tier.get(), "torn");
    EXPECT_TRUE(IsKept(tier.get(), "torn"));
  }
}

TEST(DiskTier, AFullDiskIsAnErrorAndNoMore) {
  const TestFolder folder;
  const int status = InChild([&] {
    const auto tier = OpenDisk(folder / "disk");
    Save(tier.get(), "before");
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200'000, 200'000};  // of any file
    setrlimit(RLIMIT_FSIZE, &limit);
    StateHeader large = HeaderOf("large", 40);
    const bool written = AddPart(tier.get(), 0, 3 * kMiB, &large).ok();
    const bool committed = tier->Commit(large).ok();
    const bool whole = !Find(tier.get(), "large") || ReadsWhole(tier.get(), large);
    _exit(!written && !committed && whole && IsKept(tier.get(), "before") ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(IsKept(OpenDisk(folder / "disk").get(), "before"));
}

// Bits are flipped in all files, one place a time: nothing comes back that isn't what was written.
TEST(DiskTier, FlippedBitsAreMisses) {
  const TestFolder folder;
  int opened = 0;
  int damaged = 0;
  for (int round = 0; round < 8; ++round) {
    const std::string disk = folder / std::to_string(round);
    std::map<std::string, StateHeader> saved;
    {
      const auto tier = OpenDisk(disk, 32 * kMiB);
      for (int i = 0; i < 8; ++i) {
        const std::string user = "u" + std::to_string(i);
        saved[user] = Save(tier.get(), user, 200'000);
      }
    }
    for (const auto& file : fs::directory_iterator(disk)) {
      const auto size = static_cast<int64_t>(file.file_size());
      if (size == 0) continue;
      std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      for (int64_t at = (round * 7919) % size; at < size; at += 100'003) {
        stream.seekg(at);
        const int byte = stream.get();
        stream.seekp(at);
        stream.put(static_cast<char>(byte ^ (1 << (round % 8))));
      }
    }
    const auto tier = DiskTier::Open(disk, 32 * kMiB);
    if (!tier.ok()) continue;  // said, with the cause
    ++opened;
    for (const auto& [user, header] : saved) {
      const auto found = Find(tier->get(), user);
      if (!found || !ReadsWhole(tier->get(), *found)) {
        ++damaged;
      } else {
        EXPECT_EQ(*found, header);
      }
    }
    Save(tier->get(), "after");
    EXPECT_TRUE(IsKept(tier->get(), "after"));
  }
  EXPECT_GT(opened, 0);
  EXPECT_GT(damaged, 0);
}

TEST(RedisTier, IsSharedByProcessesOfOneIdentity) {
  const TestFolder folder;
  const RedisServer server(folder.path());
  const auto tier = std::move(RedisTier::Make(server.url(), "a")).value();
  const auto same = std::move(RedisTier::Make(server.url() + "/0", "a")).value();
  const auto other = std::move(RedisTier::Make(server.url(), "b")).value();
  const auto database = std::move(RedisTier::Make(server.url() + "/1", "a")).value();
  const StateHeader header = Save(tier.get(), "u");
  EXPECT_EQ(Find(same.get(), "u"), header);
  EXPECT_TRUE(ReadsWhole(same.get(), header));
  EXPECT_FALSE(Find(other.get(), "u").has_value());
  EXPECT_FALSE(Find(database.get(), "u").has_value());
}

TEST(RedisTier, AServerThatVanishesIsAnErrorUntilItIsBack) {
  const TestFolder folder;
  RedisServer server(folder.path());
  const auto tier = std::move(RedisTier::Make(server.url(), "a")).value();
  Save(tier.get(), "u");
  server.Kill();
  EXPECT_FALSE(tier->ReadHeader("u").ok());
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(tier->ReadHeader("u").ok());
  // Nobody waits for a server that is known to be away.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  tier->Erase("u");
  server.Start();
  for (int i = 0; i < 100 && !tier->ReadHeader("u").ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  Save(tier.get(), "v");
  EXPECT_TRUE(IsKept(tier.get(), "v"));
}

TEST(RedisTier, RefusesOtherUrls) {
  for (const char* url :
       {"", "localhost", "redis://", "redis://h:x", "redis://h:70000", "redis://h/x"}) {
    const auto tier = RedisTier::Make(url, "a");
    ASSERT_FALSE(tier.ok()) << url;
    EXPECT_THAT(tier.error().message, HasSubstr("redis://HOST"));
  }
}

}  // namespace
}  // namespace hstu
