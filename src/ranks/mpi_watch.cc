#include "ranks/mpi_watch.h"

#include <unistd.h>

#include <cstdio>

#include "ranks/mpi.h"

namespace hstu {
namespace {

constexpr int kAlive = 0;
constexpr int kLeaving = 1;
constexpr int kExitLost = 2;
constexpr auto kInterval = std::chrono::milliseconds(250);
constexpr auto kLeavingInterval = std::chrono::milliseconds(1);
constexpr auto kLost = std::chrono::seconds(kMpiLostSeconds);

}  // namespace

MpiWatch::MpiWatch(MPI_Comm world) {
  MPI_Comm_dup(world, &comm_);
  int size = 0;
  MPI_Comm_size(comm_, &size);
  MPI_Comm_rank(comm_, &rank_);
  peers_.resize(size);
  for (Peer& peer : peers_) peer.seen = Clock::now();
  peers_[rank_].told = peers_[rank_].left = true;
  thread_ = std::thread([this] { Run(); });
}

MpiWatch::~MpiWatch() {
  leaving_ = true;
  thread_.join();
  MPI_Comm_free(&comm_);
}

void MpiWatch::Run() {
  Clock::time_point last = Clock::now();
  while (true) {
    const bool leaving = leaving_;
    Send();
    Receive();
    if (leaving && AllLeft()) break;
    const Clock::time_point now = Clock::now();
    if (now - last > kLost / 2) {
      // This process was stopped itself: what it didn't hear says nothing.
      for (Peer& peer : peers_) peer.seen = now;
    }
    last = now;
    LookForLost(now);
    std::this_thread::sleep_for(leaving ? kLeavingInterval : kInterval);
  }
  for (Peer& peer : peers_) MPI_Wait(&peer.sending, MPI_STATUS_IGNORE);
}

// At most one message to a rank is on its way, as one that is stopped takes none.
void MpiWatch::Send() {
  const bool leaving = leaving_;
  for (size_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    if (peer.told) continue;
    int done = 1;
    MPI_Test(&peer.sending, &done, MPI_STATUS_IGNORE);
    if (done == 0) continue;
    MPI_Isend(nullptr, 0, MPI_BYTE, static_cast<int>(i), leaving ? kLeaving : kAlive, comm_,
              &peer.sending);
    peer.told = leaving;
  }
}

void MpiWatch::Receive() {
  while (true) {
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &there, &status);
    if (there == 0) return;
    MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm_, MPI_STATUS_IGNORE);
    Peer& peer = peers_[status.MPI_SOURCE];
    peer.seen = Clock::now();
    peer.left = status.MPI_TAG == kLeaving;
  }
}

void MpiWatch::LookForLost(Clock::time_point now) const {
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i].left || now - peers_[i].seen < kLost) continue;
    std::fprintf(stderr,
                 "hstu: rank %zu gave rank %d no sign of life for %d s: it died or was stopped; "
                 "all ranks end\n",
                 i, rank_, kMpiLostSeconds);
    std::fflush(stderr);
    MPI_Abort(comm_, kExitLost);
    _exit(kExitLost);
  }
}

bool MpiWatch::AllLeft() const {
  for (const Peer& peer : peers_) {
    if (!peer.told || !peer.left) return false;
  }
  return true;
}

}  // namespace hstu
