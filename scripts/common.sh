# What the scripts share: where the repository is, and saying what is done. Sourced, not run.
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
JOBS="${JOBS:-$(nproc)}"

say() { printf '\n== %s\n' "$*"; }
