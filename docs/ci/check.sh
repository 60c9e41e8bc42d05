#!/bin/sh
# Checks an archive from a build server or cron, and stores the report in every format.
#
#   check.sh URL SAMPLE [OPTION...]
#
# URL is the prefix of the TimeGate (pywb: http://localhost:8080/COLLECTION/), SAMPLE a page that
# the archive holds. Environment variables:
#   WAIT           seconds to wait until URL responds (default 60)
#   REPORTS        folder for the reports (default reports)
#   PROFILE        what breaks the build: rfc-must (default), rfc-strict or practice
#   BASELINE       file with known failures, which do not break the build
#   ALLOW_UNKNOWN  1: a few requirements that could not be judged do not break the build
# Exit codes as of `timegate check`: 0; 1 (violated, or most could not be judged); 4 (some could not).
set -eu

url=$1
sample=$2
shift 2
reports=${REPORTS:-reports}
end=$(($(date +%s) + ${WAIT:-60}))

mkdir -p "$reports"
# Software that has just been started needs a moment; any status is fine.
until curl --silent --output /dev/null --max-time 5 "$url"; do
  if [ "$(date +%s)" -ge "$end" ]; then
    echo "$url does not answer" >&2
    exit 1
  fi
  sleep 1
done

[ -z "${BASELINE:-}" ] || set -- --baseline "$BASELINE" "$@"
code=0
timegate check "$url" --kind timegate --sample "$sample" --profile "${PROFILE:-rfc-must}" \
  --junit "$reports/conformance.xml" --sarif "$reports/conformance.sarif" \
  --html "$reports/conformance.html" --badge "$reports/conformance.svg" \
  --history "$reports/history.jsonl" "$@" || code=$?

if [ "$code" -eq 4 ] && [ "${ALLOW_UNKNOWN:-0}" = 1 ]; then
  echo "some requirements could not be judged; see $reports/conformance.html" >&2
  exit 0
fi
exit "$code"
