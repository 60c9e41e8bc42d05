#!/bin/sh
# Checks an archive from a build server, or from cron, and keeps every form of the report.
#
#   check.sh URL SAMPLE [OPTION...]
#
# URL is the TimeGate's prefix (pywb: http://localhost:8080/COLLECTION/), SAMPLE a page it holds.
# WAIT: seconds to wait until URL answers at all (60). REPORTS: folder for the reports (reports).
# FAIL_ON: what breaks the build: must, should, or silence (must, or no answer).
# Ends with 0, 1 (broken) or 4 (could not be judged), as `timegate check` does.
set -eu

url=$1
sample=$2
shift 2
reports=${REPORTS:-reports}
waiting=${WAIT:-60}
fail_on=${FAIL_ON:-must}

mkdir -p "$reports"
# Software that has just been started needs a moment; any status will do.
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

# 4: the archive did not answer everything, which its software need not be guilty of.
if [ "$code" -eq 4 ] && [ "$fail_on" != silence ]; then
  echo "some requirements could not be judged; see $reports/conformance.html" >&2
  exit 0
fi
exit "$code"
