# Completion of quietcore in bash. The program lists the words that may come next; the shell lists files and programs.
_quietcore() {
    local line=${COMP_LINE:0:COMP_POINT} words=() word gap current
    # Joins what readline splits at `=` and `:`.
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        gap=${line%%[^[:blank:]]*}
        line=${line#"$gap"}
        [[ $line == "$word"* ]] || word=$line
        line=${line#"$word"}
        if [[ $gap || ${#words[@]} -eq 0 ]]; then
            words+=("$word")
        else
            words[${#words[@]} - 1]+=$word
        fi
    done
    words=("${words[@]//[\"\'\\]/}")
    current=${words[${#words[@]} - 1]}
    COMPREPLY=()
    while IFS= read -r line; do
        word=${line%%$'\t'*}
        case $word in
            '<files>') compopt -o default 2>/dev/null ;;
            '<directories>') compopt -o dirnames 2>/dev/null ;;
            '<programs>') while read -r word; do COMPREPLY+=("$word"); done < <(compgen -c -- "$current") ;;
            *)
                # readline replaces only what follows the last `=` or `:`.
                case $current in
                    *[=:]*) word=${word#"${current%"${current##*[=:]}"}"} ;;
                esac
                printf -v word %q "$word"
                COMPREPLY+=("$word")
                ;;
        esac
    done < <(command quietcore complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _quietcore quietcore
