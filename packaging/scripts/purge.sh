    # The removal has undone all changes. If there is a record, another copy of the program has written it since.
    recorded=no
    for record in /run/quietcore/journal /run/quietcore/latency /run/quietcore/tracing /run/quietcore/kprobes \
        /var/lib/quietcore/installed /var/lib/quietcore/boot-attempt /var/lib/quietcore/boot-line /var/lib/quietcore/study; do
        if [ -e "$record" ]; then recorded=yes; fi
    done
    if [ "$recorded" = yes ]; then
        echo "quietcore: its files stay, because another copy of the program has written records there." >&2
    else
        # The metrics of the daemon, in a directory of another program.
        config=/etc/quietcore.toml
        textfile=
        if [ -e "$config" ]; then
            textfile=$(sed -n "s/^[[:space:]]*textfile[[:space:]]*=[[:space:]]*[\"']\(\/[^\"']*\.prom\)[\"'].*/\1/p" "$config" | head -n 1)
        fi
        if [ -f "$textfile" ] && grep -q '^quietcore_' "$textfile"; then rm -f "$textfile" || true; fi
        rm -f "$config" "$config.bak"
        rm -rf /run/quietcore /var/lib/quietcore /var/log/quietcore
    fi
