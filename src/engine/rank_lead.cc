#include "engine/rank_lead.h"

#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace hstu {
namespace {

struct Header {
  int command;
  size_t bytes;
};

// What every rank gives, by rank.
std::vector<std::vector<std::byte>> GatherAll(const std::vector<std::byte>& own,
                                              Communicator* world) {
  const auto ranks = static_cast<size_t>(world->size());
  std::vector<int64_t> sizes(ranks);
  const auto size = static_cast<int64_t>(own.size());
  world->AllGather(reinterpret_cast<const std::byte*>(&size),
                   std::vector<int64_t>(ranks, sizeof(size)),
                   reinterpret_cast<std::byte*>(sizes.data()));
  std::vector<std::byte> all(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}));
  world->AllGather(own.data(), sizes, all.data());
  std::vector<std::vector<std::byte>> parts;
  auto at = all.begin();
  for (const int64_t part : sizes) {
    parts.emplace_back(at, at + part);
    at += part;
  }
  return parts;
}

}  // namespace

Status AgreeOnStatus(const Status& own, Communicator* world) {
  WireWriter out;
  if (!own.ok()) {
    out.Put(own.error().code);
    out.PutList(own.error().message);
  }
  const auto all = GatherAll(out.bytes(), world);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    WireReader in(all[rank]);
    const auto code = in.Get<ErrorCode>();
    const auto message = in.GetList<std::string>();
    if (rank == 0) return Error{code, message};
    return MakeError(code, "rank {}: {}", rank, message);
  }
  return {};
}

RankLead::RankLead(Ranker* ranker, const RankLayout& layout, std::shared_ptr<Communicator> world)
    : ranker_(*ranker), layout_(layout), world_(std::move(world)) {}

RankLead::~RankLead() {
  std::vector<std::byte> nothing;
  if (leads()) Tell(Command::kEnd, &nothing);
}

// On all ranks: what rank 0 says arrives on the others.
void RankLead::Tell(Command command, std::vector<std::byte>* payload) {
  Header header{static_cast<int>(command), payload->size()};
  world_->Broadcast(std::as_writable_bytes(std::span(&header, 1)));
  world_->Broadcast(*payload);
}

std::vector<Answer> RankLead::Rank(std::span<const Request> requests) {
  const std::lock_guard lock(mutex_);
  WireWriter out;
  PutRequests(requests, &out);
  Tell(Command::kRank, &out.bytes());
  return RankTogether(requests);
}

void RankLead::WaitForSaves() {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte> nothing;
  Tell(Command::kWaitForSaves, &nothing);
  ranker_.WaitForSaves();
}

void RankLead::ForgetUsers() {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte> nothing;
  Tell(Command::kForgetUsers, &nothing);
  ranker_.ForgetUsers();
}

void RankLead::Follow() {
  while (!ended_) {
    Header header{};
    world_->Broadcast(std::as_writable_bytes(std::span(&header, 1)));
    std::vector<std::byte> payload(header.bytes);
    world_->Broadcast(payload);
    switch (static_cast<Command>(header.command)) {
      case Command::kRank: {
        WireReader in(payload);
        RankTogether(GetRequests(&in));
        break;
      }
      case Command::kWaitForSaves:
        ranker_.WaitForSaves();
        break;
      case Command::kForgetUsers:
        ranker_.ForgetUsers();
        break;
      case Command::kEnd:
        ended_ = true;
        break;
    }
  }
}

// All requests are here; this rank's group answers its users'.
std::vector<Answer> RankLead::RankTogether(std::span<const Request> requests) {
  if (layout_.groups() == 1) return ranker_.Rank(requests);
  const std::vector<size_t> own = OwnRequests(requests, layout_.Group(world_->rank()));
  std::vector<Request> taken;
  taken.reserve(own.size());
  for (const size_t index : own) taken.push_back(requests[index]);
  std::vector<Answer> answers = ranker_.Rank(taken);
  GatherAnswers(requests, &answers);
  return answers;
}

// A user's requests are all one group's, which keeps the user's state; nobody's go round.
std::vector<size_t> RankLead::OwnRequests(std::span<const Request> requests, int64_t group) const {
  const auto groups = static_cast<uint64_t>(layout_.groups());
  std::vector<size_t> own;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& user = requests[i].user_id;
    const uint64_t number = user ? Checksum(*user) : i;
    if (number % groups == static_cast<uint64_t>(group)) own.push_back(i);
  }
  return own;
}

// From this rank's group's answers to all, in the order of the requests.
void RankLead::GatherAnswers(std::span<const Request> requests,
                             std::vector<Answer>* answers) const {
  WireWriter out;
  // The ranks of a group have the same answers: the first gives them.
  if (world_->rank() % layout_.group_ranks == 0) {
    for (const Answer& answer : *answers) PutAnswer(answer, &out);
  }
  const auto all = GatherAll(out.bytes(), world_.get());
  answers->assign(requests.size(), {});
  for (int64_t group = 0; group < layout_.groups(); ++group) {
    WireReader in(all[group * layout_.group_ranks]);
    for (const size_t index : OwnRequests(requests, group)) (*answers)[index] = GetAnswer(&in);
  }
}

}  // namespace hstu
