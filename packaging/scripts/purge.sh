    # The removal has undone all changes. If there is a journal, another copy of the program has written it since.
    if ! [ -e /run/quietcore/journal ]; then
        rm -rf /run/quietcore /var/log/quietcore
        rm -f /etc/quietcore.toml /etc/quietcore.toml.bak
    fi
