// Time as wall time, and as the processor time of the process divided by its threads: what remains
// when the machine gives its processors to others meanwhile.
#ifndef HSTU_BENCH_STOPWATCH_H_
#define HSTU_BENCH_STOPWATCH_H_

namespace hstu {

struct Elapsed {
  double wall = 0.0;  // seconds
  double processor = 0.0;
};

// Of something per second, in either time.
struct Rate {
  double wall = 0.0;
  double processor = 0.0;
};

class Stopwatch {
 public:
  explicit Stopwatch(int threads);
  Elapsed Read() const;
  Rate RateOf(double amount) const;

 private:
  double wall_;
  double processor_;
  int threads_;
};

}  // namespace hstu

#endif  // HSTU_BENCH_STOPWATCH_H_
