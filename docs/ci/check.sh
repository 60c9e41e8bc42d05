#!/bin/sh
# Checks an archive from a build server or cron, and stores the report in every format.
#
#   check.sh URL SAMPLE [OPTION...]
#
# URL is the prefix of the TimeGate (pywb: http://localhost:8080/COLLECTION/), SAMPLE a page that
# the archive holds. Environment variables:
#   WAIT     seconds to wait until URL responds (default 60)
#   REPORTS  folder for the reports (default reports)
#   FAIL_ON  what breaks the build: must (default), should, or silence (must, or no response)
# Exit codes as of `timegate check`: 0, 1 (violated) or 4 (could not be judged).
set -eu

url=$1
sample=$2
shift 2
reports=${REPORTS:-reports}
waiting=${WAIT:-60}
fail_on=${FAIL_ON:-must}

mkdir -p "$reports"
# Software that has just been started needs a moment; any status is fine.
until curl --silent --output /dev/null --max-time 5 "$url"; do
  waiting=$((waiting - 1))
  if [ "$waiting" -le 0 ]; then
    echo "$url does not answer" >&2
    exit 4
  fi
  sleep 1
done

[ "$fail_on" != should ] || set -- --strict "$@"
code=0
timegate check "$url" --kind timegate --sample "$sample" \
  --junit "$reports/conformance.xml" --html "$reports/conformance.html" \
  --history "$reports/history.jsonl" "$@" || code=$?

# 4: some responses are missing, which need not be the fault of the software.
if [ "$code" -eq 4 ] && [ "$fail_on" != silence ]; then
  echo "some requirements could not be judged; see $reports/conformance.html" >&2
  exit 0
fi
exit "$code"
