#include "ranks/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "ranks/thread_communicator.h"

namespace hstu {
namespace {

using testing::HasSubstr;

TEST(Exchange, CombinesWhatIsStartedInOrderAndCountsItByLayer) {
  auto ranks = MakeThreadCommunicators(2);
  std::vector<std::thread> threads;
  for (auto& rank : ranks) {
    threads.emplace_back([&rank] {
      Trace trace(1, 16);
      Exchange exchange(std::move(rank), "exchange", &trace, 0);
      const auto own = static_cast<std::byte>(exchange.rank() + 1);
      const std::vector<std::byte> parts(6, own);
      std::vector<std::byte> first(5);
      std::vector<std::byte> second(3);
      const int64_t early = exchange.Start(parts.data(), {2, 3}, first.data());
      exchange.SetLayer(0);
      const int64_t late = exchange.Start(parts.data(), {1, 2}, second.data());
      exchange.Wait(late);
      exchange.Wait(early);
      EXPECT_EQ(first, (std::vector<std::byte>{std::byte{1}, std::byte{1}, std::byte{2},
                                               std::byte{2}, std::byte{2}}));
      EXPECT_EQ(second, (std::vector<std::byte>{std::byte{1}, std::byte{2}, std::byte{2}}));
      ASSERT_EQ(exchange.totals().size(), 2);
      EXPECT_EQ(exchange.totals()[0].bytes_sent, exchange.rank() == 0 ? 2 : 3);
      EXPECT_EQ(exchange.totals()[1].bytes_received, exchange.rank() == 0 ? 2 : 1);
      EXPECT_THAT(FormatExchange(exchange), HasSubstr("layer 0"));
      EXPECT_EQ(trace.Totals()[0].calls, 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hstu
