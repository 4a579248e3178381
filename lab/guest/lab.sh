# What guest scripts call: one line each in the scenario.

# rec NAME COMMAND...: runs it and reports status, output and time.
rec() { lab-guest rec "$@"; }

# note NAME TEXT...: reports a text.
note() { name=$1; shift; lab-guest rec "$name" echo "$@"; }

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
    tries=$(($1 * 10)); shift
    while ! "$@" >/dev/null 2>&1; do
        tries=$((tries - 1)); [ "$tries" -gt 0 ] || return 1
        sleep 0.1
    done
}
