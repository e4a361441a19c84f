#!/bin/sh
# Runs every test; says which failed.
failed=0
for test in tests/*.sh; do
    [ -f "$test" ] || continue
    if output=$(sh "$test" 2>&1); then
        echo "ok $test"
    else
        echo "FAILED $test: $output"
        failed=1
    fi
done
exit $failed
