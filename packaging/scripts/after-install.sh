    # Partitions stay as they are. Only a daemon that runs already starts again, as the installed version.
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload
        systemctl try-restart quietcore-watch.service || true
    fi
