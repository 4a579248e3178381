#compdef quietcore
# Completion of quietcore in zsh. The program lists the words that may come next; the shell lists files and programs.
_quietcore() {
    local line about request=''
    local -a before lines found
    (( CURRENT > 2 )) && before=("${(@Q)words[2,CURRENT-1]}")
    lines=("${(@f)$(command quietcore complete -- "${before[@]}" "${(Q)PREFIX}" 2>/dev/null)}")
    for line in "${lines[@]}"; do
        case $line in
            '') ;;
            '<'*) request=${line%%$'\t'*} ;;
            *)
                about=${line#*$'\t'}
                found+=("${${line%%$'\t'*}//:/\\:}${about:+:$about}")
                ;;
        esac
    done
    (( $#found )) && _describe -t words 'quietcore' found -V words
    [[ $PREFIX == -*=* ]] && compset -P 1 '*='
    case $request in
        '<files>') _files ;;
        '<directories>') _files -/ ;;
        '<programs>') _path_commands ;;
    esac
}
if [[ ${funcstack[1]} == _quietcore ]]; then
    _quietcore "$@"
else
    compdef _quietcore quietcore
fi
