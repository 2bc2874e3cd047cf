// Ranks that watch each other through MPI: each says now and then that it lives.
#ifndef HSTU_RANKS_MPI_WATCH_H_
#define HSTU_RANKS_MPI_WATCH_H_

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace hstu {

class MpiWatch {
 public:
  // Called by all ranks of `world`; MPI must serve several threads.
  explicit MpiWatch(MPI_Comm world);
  // Returns when all ranks are here, so that nobody takes the end of another for its death.
  ~MpiWatch();
  MpiWatch(const MpiWatch&) = delete;
  MpiWatch& operator=(const MpiWatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  struct Peer {
    Clock::time_point seen;
    MPI_Request sending = MPI_REQUEST_NULL;
    bool told = false;  // that this rank leaves
    bool left = false;
  };

  void Run();
  void Send();
  void Receive();
  void LookForLost(Clock::time_point now) const;
  bool AllLeft() const;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::vector<Peer> peers_;
  std::atomic<bool> leaving_{false};
  std::thread thread_;
};

}  // namespace hstu

#endif  // HSTU_RANKS_MPI_WATCH_H_
