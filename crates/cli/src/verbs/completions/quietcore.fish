# Completion of quietcore in fish. The program lists the words that may come next; the shell lists files and programs.
function __quietcore_complete
    command -q quietcore; or return
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l option (string match -r -- '^-.*?=' $current)
    set -l typed (string replace -r -- '^-.*?=' '' $current)
    for line in (command quietcore complete -- $before[2..] (string unescape -- $current) 2>/dev/null)
        switch $line
            case '<files>*'
                string join \n -- "$option"(complete -C "'' $typed")
            case '<directories>*'
                string join \n -- "$option"(complete -C "'' $typed" | string match '*/')
            case '<programs>*'
                __fish_complete_command
            case '*'
                echo $line
        end
    end
end
complete -c quietcore -f -a '(__quietcore_complete)'
