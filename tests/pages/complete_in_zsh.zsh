# complete_in_zsh.zsh SCRIPT LINES -- what the tab key would offer for each line of LINES: its number from 1, a tab and the word.
#
# A second zsh on a pseudo terminal (zpty) completes the lines as it would for somebody who types: all that is given to compadd is noted.
zmodload zsh/zpty
answers=$PWD/.answers
setup=$PWD/.setup
: > $answers
cat > $setup <<'END'
fpath=($1 $fpath)
autoload -Uz compinit
compinit -u -D
zstyle ':completion:*' list-prompt ''
zstyle ':completion:*' menu no
unsetopt list_beep beep prompt_sp
LISTMAX=10000
compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-[a-zA-Z]#[OAD]* ]]; then
        builtin compadd "$@"
        return
    fi
    local -a noted
    builtin compadd -O noted "$@"
    local word
    for word in $noted; do print -r -- "$number"$'\t'"$word" >> $answers; done
    builtin compadd "$@"
}
complete_and_say() {
    _main_complete
    compstate[insert]= compstate[list]=
}
zle -C say complete-word complete_and_say
bindkey '^I' say
all() {
    local line
    number=0
    while IFS= read -r line; do
        ((number++))
        BUFFER=$line CURSOR=$#line
        zle say
    done < $lines
    BUFFER=
    zle -I
    print -r -- "all lines are d""one"
}
zle -N all
bindkey '^X' all
PROMPT= RPROMPT=
END
zpty -b driven "TERM=dumb answers=${(q)answers} lines=${(q)2:a} zsh -f -i"
zpty -w driven "set -- ${(q)1:a:h}; source ${(q)setup}; stty -echo; print all is s''et"
zpty -r driven said '*all is set*'
zpty -w -n driven $'\x18'
zpty -r driven said '*all lines are done*'
zpty -d driven
cat $answers
rm -f $answers $setup
