// Each operator alone, as a fraction of the multiply-adds or the reads of the same run. An operator
// is in the file of its kind; bench/run.sh roofline draws them all.
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
