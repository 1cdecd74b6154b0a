# Functions of .ci/run and .ci/nightly, which count what passes and fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null
export CI=true NO_COLOR=1 npm_config_fund=false npm_config_audit=false npm_config_update_notifier=false
# Debian installs servers into this folder, which is not in the PATH of ordinary users.
export PATH="$PATH:/usr/sbin"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
problems=()

# check <name> <command…>: runs a command and counts it as one check, which passes or fails.
check() {
  local name=$1 started=$SECONDS
  shift
  echo "== $name"
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    problems+=("$name")
  fi
  echo "-- $name: $((SECONDS - started)) s"
}

# suite <name> <seconds> <command…>: runs tests within a time limit and adds the counts of their last line.
suite() {
  local name=$1 limit=$2 started=$SECONDS output="$work/output" status=0 counts holding failing
  shift 2
  echo "== tests: $name"
  timeout --kill-after=30 "$limit" "$@" >"$output" 2>&1 || status=$?
  grep -avE '^ +(✓|↓)' "$output" || true
  counts=$(grep -aE '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$output" | tail -n 1) || counts='0 passed, 0 failed'
  read -r holding _ failing _ <<<"$counts"
  # A run that ended early, or that found no test, is a failure.
  if [ "$failing" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$holding" -eq 0 ]; }; then failing=1; fi
  passed=$((passed + holding))
  failed=$((failed + failing))
  [ "$failing" -eq 0 ] || problems+=("tests: $name ($counts, exit code $status)")
  echo "-- tests: $name: $((SECONDS - started)) s"
}

# install <command or file:package…>: installs the Debian packages of missing programs.
install() {
  local pair missing='' as_root=()
  for pair in "$@"; do
    command -v "${pair%%:*}" >/dev/null || [ -e "${pair%%:*}" ] || missing+=" ${pair#*:}"
  done
  [ -n "$missing" ] || return 0
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# Neither tests nor programs change or leave anything in the work tree.
clean_tree() {
  git status --short
  [ -z "$(git status --porcelain)" ]
}

# Prints the failures, and the counts as the last line.
finish() {
  local problem
  for problem in ${problems[@]+"${problems[@]}"}; do echo "FAILED: $problem"; done
  echo "$passed passed, $failed failed"
  exit $((failed > 0))
}
