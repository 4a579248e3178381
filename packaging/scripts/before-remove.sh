    # Only the program can undo its changes, so that happens while it is here. If something stays changed, the package stays.
    config=/etc/quietcore.toml
    aside=$config.before-removal
    watched=no
    if [ -d /run/systemd/system ] && systemctl --quiet is-active quietcore-watch.service; then
        watched=yes
        systemctl stop quietcore-watch.service
    fi
    # A removal was interrupted here before.
    if [ -e "$aside" ] && ! [ -e "$config" ]; then mv "$aside" "$config"; fi
    if [ -e /run/quietcore/journal ] || [ -e /run/quietcore/latency ] || [ -e /run/quietcore/tracing ] ||
        [ -e /run/quietcore/kprobes ] || [ -e /var/lib/quietcore ]; then
        # `undo --all` would also remove the declarations. They are configuration, which outlives a removal.
        if [ -e "$config" ]; then mv "$config" "$aside"; fi
        status=0
        /usr/bin/quietcore undo --all || status=$?
        if [ -e "$aside" ]; then mv "$aside" "$config"; fi
        if [ "$status" -ne 0 ]; then
            if [ "$watched" = yes ]; then systemctl start quietcore-watch.service || true; fi
            cat >&2 <<END
quietcore is not removed: undo ended with status $status, and nothing else can undo what is left (see above).
Run "quietcore undo --force" to restore it, or "quietcore undo --skip-changed" to leave it changed. Then remove the package again.
END
            exit 1
        fi
    fi
    if command -v systemctl >/dev/null; then
        systemctl --no-reload disable quietcore.service quietcore-watch.service || true
    fi
    if [ -d /run/systemd/system ]; then systemctl stop quietcore.service || true; fi
