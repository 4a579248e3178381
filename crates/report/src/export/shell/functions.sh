# ---- functions that the changes below use ------------------------------------------------------------------------

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
# stop STATUS TEXT...
stop() {
    status=$1
    shift
    say "$@"
    exit "$status"
}

# value_of FILE: its content; fails if it cannot be read.
value_of() { cat "$1" 2>/dev/null; }

# send FILE VALUE: one write; fails if the kernel refuses.
send() { { printf '%s\n' "$2" >"$1"; } 2>/dev/null; }

# For awk: converts lists of CPUs such as 0-2,5 to sets, and sets to masks.
# shellcheck disable=SC2016 # awk expands these
sets='
    function into(list, set,   parts, ends, count, i, cpu) {
        count = split(list, parts, ",")
        for (i = 1; i <= count; i++) {
            if (split(parts[i], ends, "-") == 1) ends[2] = ends[1]
            for (cpu = ends[1] + 0; cpu <= ends[2] + 0; cpu++) {
                set[cpu] = 1
                if (cpu > top) top = cpu
            }
        }
    }
    function mask(set,   place, digit, text) {
        for (place = int(top / 4) * 4; place >= 0; place -= 4) {
            digit = 1 + (place in set) + 2 * ((place + 1) in set) + 4 * ((place + 2) in set) + 8 * ((place + 3) in set)
            text = text substr("0123456789abcdef", digit, 1)
        }
        sub(/^0+/, "", text)
        return text
    }'

# list_mask LIST: a list of CPUs (or memory nodes) as a mask.
list_mask() { awk -v list="$1" "$sets"' BEGIN { into(list, set); print mask(set) }'; }

# bare_mask MASK: without commas and leading zeros.
bare_mask() { printf '%s' "$1" | tr -d ',' | tr 'ABCDEF' 'abcdef' | sed 's/^0*//'; }

# same KIND FOUND INTENDED: whether two values of a file mean the same.
same() {
    [ "$2" != "$3" ] || return 0
    case $1 in
    list) [ "$(list_mask "$2")" = "$(list_mask "$3")" ] ;;
    mask) [ "$(bare_mask "$2")" = "$(bare_mask "$3")" ] ;;
    word) case " $2 " in *" ${3#+} "*) true ;; *) false ;; esac ;;
    choice) [ "$(chosen "$2")" = "$(chosen "$3")" ] ;;
    *) false ;;
    esac
}

# chosen TEXT: of a list of choices the one in brackets, otherwise the text.
chosen() {
    case $1 in
    *'['*']'*)
        chosen_rest=${1#*'['}
        printf '%s' "${chosen_rest%%']'*}"
        ;;
    *) printf '%s' "$1" ;;
    esac
}

# file STEP NUMBER KIND REFUSAL PATH VALUE: one value in an existing file. REFUSAL is the reaction if the kernel
# refuses: fatal undoes everything; report only reports it.
file() {
    case $1 in
    check) [ "$4" = report ] || [ -e "$5" ] || stop 4 "$5 does not exist: this is not the machine of the plan" ;;
    save) cat "$5" >"$state/$2" 2>/dev/null || rm -f "$state/$2" ;;
    apply)
        stays=
        put "$3" "$4" "$5" "$6"
        [ -z "$stays" ] || : >"$state/$2.stays"
        ;;
    status)
        if [ -f "$state/$2.stays" ]; then
            say "$5 is still $(value_of "$5" || echo missing): the kernel refused $6"
        else
            compare "$3" "$5" "$6"
        fi
        ;;
    undo) give_back "$2" "$3" "$5" "$6" ;;
    again) verify "$2" "$3" "$5" "$6" ;;
    esac
}

# inside STEP KIND PATH VALUE: a value in a cgroup of this script; it ends with the cgroup.
inside() {
    case $1 in
    apply) put "$2" fatal "$3" "$4" ;;
    status) compare "$2" "$3" "$4" ;;
    esac
}

# cgroup STEP PATH ROOT MEMBERS: a new cgroup. MEMBERS is the file that lists who is in it.
cgroup() {
    case $1 in
    check) [ ! -e "$2" ] || stop 5 "$2 already exists: first undo what created it" ;;
    apply)
        : >"$state/made${2##*/}"
        if ! mkdir "$2"; then
            rm "$state/made${2##*/}"
            stop 1 "$2 cannot be created"
        fi
        ;;
    status) [ -d "$2" ] || differs "$2 is gone" ;;
    undo) if [ -f "$state/made${2##*/}" ]; then remove "$2" "$3" "$4"; fi ;;
    again) [ ! -f "$state/made${2##*/}" ] || [ ! -d "$2" ] || lost "$2 cannot be removed" ;;
    esac
}

# owner STEP NUMBER PATH OWNER MODE: another user may write to a file of a cgroup. For an existing file the former
# owner is saved and restored; a file of a new cgroup ends with it.
owner() {
    case $1 in
    save) stat -c '%u:%g %a' "$3" >"$state/$2" 2>/dev/null || rm -f "$state/$2" ;;
    apply) { chown "$4" "$3" && chmod "$5" "$3"; } || stop 1 "the owner of $3 cannot be set to $4" ;;
    status)
        owner_now=$(stat -c '%u:%g' "$3" 2>/dev/null || echo gone)
        case $owner_now in "$4" | "$4":*) ;; *) differs "$3 belongs to $owner_now, not to $4" ;; esac
        ;;
    undo)
        if [ -f "$state/$2" ] && [ -e "$3" ]; then
            read -r owner_before owner_mode <"$state/$2"
            chown "$owner_before" "$3" && chmod "$owner_mode" "$3"
        fi
        ;;
    again) [ ! -f "$state/$2" ] || [ "$(stat -c '%u:%g %a' "$3")" = "$(cat "$state/$2")" ] || lost "$3 has another owner" ;;
    esac
}

# cycle STEP CPU...: takes all CPUs offline and online again, so that timers move. One that refuses stays online.
cycle() {
    step=$1
    shift
    [ "$step" = apply ] || return 0
    for cpu; do
        send "/sys/devices/system/cpu/cpu$cpu/online" 0 || say "CPU $cpu stays online: the kernel refused"
    done
    for cpu; do
        [ "$(value_of "/sys/devices/system/cpu/cpu$cpu/online")" != 0 ] ||
            send "/sys/devices/system/cpu/cpu$cpu/online" 1 || stop 1 "CPU $cpu does not come back online"
    done
}

# slice STEP UNIT NODES: an empty slice that makes systemd keep the cpuset controller enabled.
slice() {
    slice_file=/run/systemd/system/$2
    case $1 in
    check) [ ! -e "$slice_file" ] || stop 5 "$slice_file already exists: first undo what created it" ;;
    apply)
        : >"$state/slice"
        printf '[Slice]\nAllowedMemoryNodes=%s\n' "$3" >"$slice_file"
        systemctl start "$2" || say "systemd does not start $2, so the partition ends at the next daemon-reload"
        ;;
    status) systemctl --quiet is-active "$2" || differs "$2 is not active" ;;
    undo)
        if [ -f "$state/slice" ]; then
            systemctl stop "$2"
            rm -f "$slice_file"
        fi
        ;;
    esac
}

# partition STEP PATH WORD...: makes the CPUs of a v2 cgroup exclusive, with the first word that reads back unchanged.
partition() {
    step=$1 path=$2
    shift 2
    case $step in
    apply)
        for word; do
            send "$path" "$word" || true
            found=$(value_of "$path")
            [ "$found" != "$word" ] || return 0
            say "$path: wrote $word, but it reads $found"
        done
        stop 4 "the kernel creates no partition of these CPUs, see above"
        ;;
    status) for word; do [ "$(value_of "$path")" != "$word" ] || return 0; done
        differs "$path reads: $(value_of "$path")" ;;
    undo) [ ! -e "$path" ] || send "$path" member || lost "$path cannot be made a member again" ;;
    esac
}

# tasks_between STEP FROM TO [user]: moves all movable tasks of a v1 cpuset to another one, or all but kernel threads.
tasks_between() {
    case $1 in
    apply)
        move_all "$2" "$3" "${4-}"
        [ "${4-}" = user ] || narrow
        ;;
    status) on_isolated "${4-}" ;;
    undo) if [ -d "$3" ]; then empty "$3" "$2" tasks; fi ;;
    esac
}

# kernel_threads STEP: moves those that a v2 partition leaves on the isolated CPUs.
kernel_threads() {
    case $1 in
    apply) narrow ;;
    status) on_isolated ;;
    esac
}

# put KIND REFUSAL PATH VALUE: writes a value that differs, and reads it back. Sets `stays` if the kernel refused.
put() {
    if ! now=$(value_of "$3"); then
        refused "$2" "$3 cannot be read"
    elif same "$1" "$now" "$4"; then
        return 0
    elif ! send "$3" "$4"; then
        refused "$2" "$3 is still $now: the kernel refuses $4"
    else
        now=$(value_of "$3") || now=
        same "$1" "$now" "$4" || refused "$2" "$3: wrote $4, but it reads $now"
    fi
}

# refused REFUSAL TEXT
refused() {
    [ "$1" = report ] || stop 1 "$2"
    say "$2"
    stays=1
}

# give_back NUMBER KIND PATH OURS: restores the former value, unless another program has changed it.
give_back() {
    [ -f "$state/$1" ] || return 0
    now=$(value_of "$3") || return 0
    former=$(cat "$state/$1")
    ! restored "$2" "$now" "$former" "$4" || return 0
    if ! same "$2" "$now" "$4"; then
        say "$3 reads $now, which is neither the former $former nor our $4: left alone"
        rm -f "$state/$1"
        result=5
        return 0
    fi
    send "$3" "$(former_value "$2" "$former" "$4")" || true
}

# verify NUMBER KIND PATH OURS: tries again for files that refused their former value while the partition existed.
verify() {
    [ -f "$state/$1" ] || return 0
    now=$(value_of "$3") || return 0
    former=$(cat "$state/$1")
    ! restored "$2" "$now" "$former" "$4" || return 0
    send "$3" "$(former_value "$2" "$former" "$4")" || true
    now=$(value_of "$3") || now=
    restored "$2" "$now" "$former" "$4" || lost "$3 reads $now, was $former"
}

# restored KIND NOW FORMER OURS
restored() {
    if [ "$1" = word ]; then
        same word "$3" "$4" || ! same word "$2" "$4"
    else
        same "$1" "$2" "$3"
    fi
}

# former_value KIND FORMER OURS: the value to write so that the file reads as before.
former_value() {
    case $1 in
    word) printf '%s' "-${3#+}" ;;
    choice) chosen "$2" ;;
    *) printf '%s' "$2" ;;
    esac
}

compare() {
    now=$(value_of "$2") || now="nothing"
    same "$1" "$now" "$3" || differs "$2 reads $now, planned is $3"
}
differs() {
    say "$@"
    result=1
}
lost() {
    say "$@"
    result=1
}

# tasks: for every thread number/start time, 1 if its affinity may be set, 1 for a kernel thread, and its CPUs.
tasks() {
    # A task may end while its files are read: grep then continues, and an awk that reads them itself may not (mawk). A
    # name may contain line breaks, so each line has its file in front.
    printf '%s\n' /proc/[0-9]*/task/[0-9]* | awk '{ print $0 "/stat"; print $0 "/status" }' |
        LC_ALL=C xargs grep -s '' /dev/null | awk '
        {
            file = substr($0, 1, index($0, ":") - 1)
            line = substr($0, length(file) + 2)
        }
        file ~ /\/stat$/ {
            stat = (file == of ? stat : "") line
            of = file
            next
        }
        line ~ /^Cpus_allowed_list:/ && file == of "us" {
            # A name may hold anything; the fields after its last bracket are numbers.
            sub(/^.*\) /, "", stat)
            split(stat, field, " ")
            parts = split(file, part, "/")
            # PF_NO_SETAFFINITY and PF_KTHREAD (include/linux/sched.h)
            print part[parts - 1] "/" field[20], int(field[7] / 67108864) % 2 == 0, int(field[7] / 2097152) % 2, \
                substr(line, index(line, ":") + 2)
        }'
}

# pin NUMBER/START MASK
pin() { taskset -p "$2" "${1%%/*}" >/dev/null 2>&1; }

# move_all FROM TO [user]: repeats until a pass finds no movable task except refused ones, because a task that forks
# while it is moved leaves children behind.
move_all() {
    : >"$state/refused"
    pass=0
    while [ "$pass" -lt 200 ]; do
        awk '{ print "/proc/" $1 "/stat" }' "$1/tasks" | LC_ALL=C xargs grep -s '' /dev/null |
            awk -v list="$state/refused" -v who="${3-}" '
            function movable() {
                sub(/^.*\) /, "", stat)
                split(stat, field, " ")
                # PF_NO_SETAFFINITY; PF_EXITING: the kernel takes its number and does not move it.
                if ((tid in refused) || int(field[7] / 67108864) % 2 || int(field[7] / 4) % 2) return
                if (who != "user" || int(field[7] / 2097152) % 2 == 0) print tid
            }
            BEGIN { while ((getline tid < list) > 0) refused[tid] = 1; tid = "" }
            {
                split($0, part, "/")
                if (part[3] != tid) {
                    if (tid != "") movable()
                    tid = part[3]
                    stat = ""
                }
                stat = stat substr($0, index($0, ":") + 1)
            }
            END { if (tid != "") movable() }' >"$state/batch"
        [ -s "$state/batch" ] || return 0
        while read -r tid; do
            send "$2/tasks" "$tid" || echo "$tid" >>"$state/refused"
        done <"$state/batch"
        pass=$((pass + 1))
    done
    say "new tasks still appear in $1"
}

# narrow: removes the isolated CPUs from the affinity of kernel threads that may still run there.
narrow() {
    : >"$state/refused"
    while
        tasks | awk -v isolated="$isolated" -v housekeeping="$housekeeping" "$sets"'
            BEGIN { into(isolated, away); into(housekeeping, keep) }
            step == 1 { settled[$1] = 1; next }
            $2 && $3 && !($1 in settled) {
                split("", rest)
                into($4, rest)
                hit = 0
                for (cpu in away) if (cpu in rest) { hit = 1; delete rest[cpu] }
                if (!hit) next
                room = 0
                for (cpu in keep) if (cpu in rest) room = 1
                print $1, (room ? mask(rest) : mask(keep))
            }' step=1 "$state/refused" step=2 - >"$state/batch"
        [ -s "$state/batch" ]
    do
        while read -r task cpus; do
            echo "$task" >>"$state/refused"
            pin "$task" "$cpus" || [ ! -e "/proc/${task%%/*}" ] || say "thread ${task%%/*} cannot be moved off CPU $isolated"
        done <"$state/batch"
    done
}

# keep_pins: restores the pinning of tasks to some of the housekeeping CPUs if the kernel dropped it (v1 before 6.2).
# A task without pinning never gets one.
keep_pins() {
    tasks >"$state/now"
    awk -v housekeeping="$housekeeping" "$sets"'
        BEGIN { into(housekeeping, keep) }
        step == 1 { before[$1] = $4; next }
        $2 && ($1 in before) && before[$1] != $4 {
            split("", was)
            split("", is)
            split("", wanted)
            into(before[$1], was)
            into($4, is)
            all = 1
            some = 0
            for (cpu in keep) if (cpu in was) { some = 1; wanted[cpu] = 1 } else all = 0
            if (some && !all && mask(is) != mask(wanted)) print $1, mask(wanted)
        }' step=1 "$state/tasks" step=2 "$state/now" >"$state/batch"
    while read -r task cpus; do
        pin "$task" "$cpus" || [ ! -e "/proc/${task%%/*}" ] || say "thread ${task%%/*} lost its pinning to CPU mask $cpus"
    done <"$state/batch"
}

# give_back_pins: restores the affinity of each thread if the kernel did not. What another program has set since is
# kept.
give_back_pins() {
    [ -f "$state/tasks" ] || return 0
    [ -f "$state/after" ] || cp "$state/undo" "$state/after"
    tasks >"$state/now"
    awk "$sets"'
        step == 1 { before[$1] = $4; next }
        step == 2 { after[$1] = $4; next }
        step == 3 { if (($1 in after) && after[$1] != $4) others[$1] = 1; next }
        $2 && ($1 in before) && before[$1] != $4 {
            split("", was)
            into(before[$1], was)
            print $1, mask(was), ($1 in others) ? "other" : "ours"
        }' step=1 "$state/tasks" step=2 "$state/after" step=3 "$state/undo" step=4 "$state/now" >"$state/batch"
    while read -r task cpus whose; do
        case $whose in
        ours) pin "$task" "$cpus" || [ ! -e "/proc/${task%%/*}" ] || lost "thread ${task%%/*} does not take CPU mask $cpus again" ;;
        other) say "thread ${task%%/*} has other CPUs by now: left alone (previously mask $cpus)" ;;
        esac
    done <"$state/batch"
}

# on_isolated [user]: counts movable tasks outside the partition that may run on the isolated CPUs; with `user`
# without kernel threads.
on_isolated() {
    count=$(tasks | awk -v who="${1-}" -v isolated="$isolated" -v housekeeping="$housekeeping" "$sets"'
        BEGIN { into(isolated, away); into(housekeeping, keep) }
        $2 && !(who == "user" && $3) {
            split("", set)
            into($4, set)
            here = there = 0
            for (cpu in away) if (cpu in set) here = 1
            for (cpu in keep) if (cpu in set) there = 1
            if (here && there) count++
        }
        END { print count + 0 }')
    [ "$count" -eq 0 ] || differs "$count movable threads may run on CPU $isolated and elsewhere"
}

# empty CGROUP HOME MEMBERS: moves all tasks back, until none is left.
empty() {
    pass=0
    while [ "$pass" -lt 200 ] && members=$(value_of "$1/$3") && [ -n "$members" ]; do
        for member in $members; do send "$2/$3" "$member" || true; done
        pass=$((pass + 1))
    done
}

# remove CGROUP HOME MEMBERS: removes all cgroups below it first. Tasks that are ending delay this for a moment.
remove() {
    [ -d "$1" ] || return 0
    find "$1" -depth -type d | while IFS= read -r below; do
        empty "$below" "$2" "$3"
        rmdir "$below" 2>/dev/null || {
            sleep 1
            empty "$below" "$2" "$3"
            rmdir "$below" 2>/dev/null || true
        }
    done
}

