# ---- apply, undo, status ---------------------------------------------------------------------------------------

be_root() { [ "$(id -u)" -eq 0 ] || stop 3 "this needs root"; }

apply() {
    be_root
    for program in awk taskset; do
        command -v "$program" >/dev/null || stop 4 "$program is needed but not installed"
    done
    [ ! -e "$state" ] || stop 5 "already applied, or interrupted; undo it with: $0 undo"
    online=$(value_of /sys/devices/system/cpu/online) || online=
    same list "$online" "$planned_online" || stop 4 "CPUs $online are online, the plan is for $planned_online"
    forward check
    (umask 077 && mkdir "$state")
    trap 'half_way $?' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    tasks >"$state/tasks"
    forward save
    : >"$state/saved"
    forward apply
    keep_pins
    tasks >"$state/after"
    trap - EXIT INT TERM HUP
    say "CPU $isolated is isolated; undo it with: $0 undo"
}

half_way() {
    trap - EXIT
    say "failed; all changes were undone"
    take_back
    exit "$1"
}

take_back() {
    set +e
    trap '' INT TERM HUP
    # Without it, apply was killed before its first write.
    if [ -f "$state/saved" ]; then
        # An interrupted undo continues where it stopped: its own changes do not count as those of another program.
        if [ ! -f "$state/undo" ]; then
            tasks >"$state/new"
            mv "$state/new" "$state/undo"
        fi
        backward undo
        backward again
        give_back_pins
    fi
    rm -rf "$state"
}

undo() {
    be_root
    if [ ! -d "$state" ]; then
        say "nothing to undo"
        return 0
    fi
    result=0
    take_back
    [ "$result" -ne 0 ] || say "everything is as before"
    exit "$result"
}

status() {
    if [ ! -d "$state" ]; then
        say "not applied"
        exit 3
    fi
    result=0
    forward status
    [ "$result" -ne 0 ] || say "as planned: CPU $isolated is isolated, everything else runs on CPU $housekeeping"
    exit "$result"
}

result=0
case ${1-} in
apply) apply ;;
undo) undo ;;
status) status ;;
*)
    echo "usage: $0 apply|undo|status" >&2
    exit 2
    ;;
esac
