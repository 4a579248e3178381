# What guest scripts call: one line each in the scenario. `rec NAME lab FUNCTION ...` records one of these.

# rec NAME COMMAND...: runs it and reports status, output and time.
rec() { lab-guest rec "$@"; }

# note NAME TEXT...: reports a text.
note() { name=$1; shift; lab-guest rec "$name" echo "$@"; }

# again: starts the machine anew. Only guests on a disk come back; they know by $LAB_BOOT how often they have.
again() { sync; reboot -f; }

# again_tried: the same after `quietcore boot trial`, for boards where the way of starting anew chooses the entry.
again_tried() { again; }

# wait_for SECONDS COMMAND...: until it succeeds; ten tries for each second, however long they take.
wait_for() {
    tries=$(($1 * 10)); shift
    while ! "$@" >/dev/null 2>&1; do
        tries=$((tries - 1)); [ "$tries" -gt 0 ] || return 1
        sleep 0.1
    done
}

# settled: waits for the one time that the kernel changes its clock source, about a second after its start. What is measured
# meanwhile is honestly reported as disturbed.
settled() { wait_for 15 sh -c '! grep -q early /sys/devices/system/clocksource/clocksource0/current_clocksource'; }

# populate: tasks of every kind that a real machine has, in their usual places.
populate() {
    lab-guest sleepers 20 >/dev/null
    lab-guest sleepers 2 'a (b) c' >/dev/null
    lab-guest threads 3 'lab) thread (' &
    lab-guest hold 1 &
    lab-guest hold 3 &
    case $(cat /proc/cmdline) in
        *lab.cgroup=v2*) mkdir /sys/fs/cgroup/system; lab-guest sleepers 3 'in a cgroup' >/tmp/inside
            for pid in $(cat /tmp/inside); do echo "$pid" >/sys/fs/cgroup/system/cgroup.procs; done ;;
    esac
    sleep 1
}

# state NAME: keeps the whole state as /tmp/NAME.
state() { lab-guest state >"/tmp/$1"; }

# same NAME A B: reports the differences of two states.
same() { rec "$1" lab-guest diff "/tmp/$2" "/tmp/$3"; }

# left_on CPU: interrupts with a handler that may come to the CPU and that would let themselves be moved.
left_on() {
    for irq in /proc/irq/[0-9]*; do
        [ -n "$(find "$irq" -mindepth 1 -type d)" ] || continue
        lab-guest listhas "$(cat "$irq/smp_affinity_list")" "$1" || continue
        if echo 0 2>/dev/null >"$irq/smp_affinity_list"; then echo "movable ${irq##*/}"; else echo "fixed ${irq##*/}"; fi
    done
}

# load_later: the modules that the scenario's shape names for later. Some may be there already.
load_later() { while read -r module; do insmod "$module" 2>/dev/null; done </modules/later; }

# pids_of NAME: of all processes with that name.
pids_of() {
    for dir in /proc/[0-9]*; do
        read -r comm 2>/dev/null <"$dir/comm" && [ "$comm" = "$1" ] && echo "${dir#/proc/}"
    done
}

# crowded NAME COMMAND...: records a command while twelve spinners want all the CPUs that they may have. There are three per
# CPU: with fewer, the balancer may leave one CPU to a task that is pinned there. They run until the command ends.
crowded() {
    spinners=
    for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
        lab-guest spin - other:0 600 >/dev/null &
        spinners="$spinners $!"
    done
    sleep 0.5
    rec "$@"
    # shellcheck disable=SC2086 # the words are process numbers
    kill $spinners
    # shellcheck disable=SC2086
    wait $spinners
}

# masks_of NAME: how many processes of that name may run where.
masks_of() {
    for pid in $(pids_of "$1"); do grep Cpus_allowed_list "/proc/$pid/status"; done | sort | uniq -c
}

# places_of NAME...: mask, cpuset cgroup, real-time priority and policy of all threads with such names, counted.
places_of() {
    for name; do
        for dir in /proc/[0-9]*/task/[0-9]*; do
            read -r comm 2>/dev/null <"$dir/comm" && [ "$comm" = "$name" ] || continue
            cgroup=$(grep -E ':cpuset:' "$dir/cgroup" 2>/dev/null || grep '^0::' "$dir/cgroup" 2>/dev/null) || continue
            mask=$(grep Cpus_allowed_list "$dir/status" 2>/dev/null | cut -f2)
            echo "$mask ${cgroup##*:} $(sed 's/.*) //' "$dir/stat" 2>/dev/null | cut -d' ' -f38,39)"
        done
    done | sort | uniq -c
}
