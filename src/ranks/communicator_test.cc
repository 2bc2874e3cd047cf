#include "ranks/communicator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "ranks/thread_communicator.h"

namespace hstu {
namespace {

void OnRanks(int size, const std::function<void(Communicator&)>& body) {
  auto ranks = MakeThreadCommunicators(size);
  std::vector<std::thread> threads;
  for (auto& rank : ranks) threads.emplace_back([&] { body(*rank); });
  for (std::thread& thread : threads) thread.join();
}

std::string Gather(Communicator& group, const std::string& own, const std::vector<int64_t>& sizes) {
  std::string all(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), '?');
  group.AllGather(reinterpret_cast<const std::byte*>(own.data()), sizes,
                  reinterpret_cast<std::byte*>(all.data()));
  return all;
}

TEST(ThreadCommunicator, GathersPartsOfAnySizeInTheOrderOfRanks) {
  OnRanks(3, [](Communicator& group) {
    ASSERT_EQ(group.size(), 3);
    for (int round = 0; round < 50; ++round) {
      const std::string parts[] = {"aa", "", "c"};
      EXPECT_EQ(Gather(group, parts[group.rank()], {2, 0, 1}), "aac");
    }
  });
}

TEST(ThreadCommunicator, BroadcastsWhatRankZeroHas) {
  OnRanks(4, [](Communicator& group) {
    int value = 10 + group.rank();
    group.Broadcast(std::as_writable_bytes(std::span(&value, 1)));
    EXPECT_EQ(value, 10);
  });
}

TEST(ThreadCommunicator, SplitsIntoGroupsThatDontMeet) {
  OnRanks(5, [](Communicator& world) {
    const auto group = world.Split(world.rank() % 2);
    EXPECT_EQ(group->size(), world.rank() % 2 == 0 ? 3 : 2);
    EXPECT_EQ(group->rank(), world.rank() / 2);
    const std::string own(1, static_cast<char>('0' + world.rank()));
    const std::vector<int64_t> sizes(group->size(), 1);
    EXPECT_EQ(Gather(*group, own, sizes), world.rank() % 2 == 0 ? "024" : "13");
  });
}

}  // namespace
}  // namespace hstu
