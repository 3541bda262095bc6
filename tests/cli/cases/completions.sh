# SPDX-License-Identifier: Apache-2.0
# completions install: what a shell offers behind the tab key, in the user's own files.
# shellcheck shell=sh disable=SC2034,SC2154
made=$(dirname "$CASE")/../../../packaging/completions # the files that are embedded
home=$PWD/home
unset XDG_DATA_HOME XDG_CONFIG_HOME BASH_COMPLETION_USER_DIR
export HOME="$home" SHELL=/usr/bin/zsh

# --- where each shell looks ---
bm completions install; exits 0; silent ../out; holds home/.local/share/zsh/site-functions/_bandmill < "$made/_bandmill"
says ../err "^bandmill: completions for zsh are in $home/\.local/share/zsh/site-functions/_bandmill \(to undo it: rm $home/.*/_bandmill\)$"
says ../err "^bandmill: zsh does not load them until ~/\.zshrc has, before compinit: fpath=\($home/\.local/share/zsh/site-functions \\\$fpath\)$"
absent home/.config
# said until a line that is no comment names the folder, by any form of its name
# shellcheck disable=SC2016 # variables of zsh
for line in "fpath=($home/.local/share/zsh/site-functions \$fpath)" 'fpath=(~/.local/share/zsh/site-functions $fpath)' \
    'fpath=($HOME/.local/share/zsh/site-functions $fpath)'; do
    printf '# %s\n' "$line" > home/.zshrc
    bm completions install; exits 0; says ../err 'zsh does not load them until'
    printf 'setopt x\n%s\ncompinit\n' "$line" > home/.zshrc
    bm completions install; exits 0
    ! grep -q 'does not load' ../err || fail "said although ~/.zshrc has $line"
done
rm home/.zshrc
bm completions install bash; exits 0
if [ -r /usr/share/bash-completion/bash_completion ] || [ -r /usr/local/share/bash-completion/bash_completion ] || [ -r /etc/bash_completion ]; then
    ! grep -q 'does not load' ../err || fail 'bash-completion is there'
else
    says ../err "^bandmill: bash does not load them: the package bash-completion is not installed \(without it, ~/\.bashrc can have: \. $home/.*/bandmill\)\$"
fi
rm "$home/.local/share/bash-completion/completions/bandmill"
bm completions install bash fish; exits 0
holds home/.local/share/bash-completion/completions/bandmill < "$made/bandmill.bash"
holds home/.config/fish/completions/bandmill.fish < "$made/bandmill.fish"
[ "$(find home -type f | wc -l)" = 3 ] || fail "other files too: $(find home -type f)"
export XDG_DATA_HOME="$PWD/data" XDG_CONFIG_HOME="$PWD/config"
bm completions install fish bash zsh -q; exits 0; silent ../err
export BASH_COMPLETION_USER_DIR="$PWD/own"
bm completions install --json bash; exits 0; silent ../err
printf '{"schema":1,"files":[{"shell":"bash","path":"%s/own/completions/bandmill"}]}\n' "$PWD" | holds ../out
for file in data/bash-completion/completions/bandmill data/zsh/site-functions/_bandmill config/fish/completions/bandmill.fish own/completions/bandmill; do
    [ -s "$file" ] || fail "no $file"
done
unset BASH_COMPLETION_USER_DIR
export XDG_DATA_HOME=relative # which counts for nothing
bm completions install bash; exits 0; absent relative

# --- one of ours is replaced, nothing else is ---
printf '# bash completion for bandmill, made by an older version\n' > home/.local/share/bash-completion/completions/bandmill
bm completions install bash; exits 0; holds home/.local/share/bash-completion/completions/bandmill < "$made/bandmill.bash"
fish=config/fish/completions/bandmill.fish
echo 'complete -c bandmill' > $fish
bm completions install bash fish; refused 2 "$PWD/$fish is there, and is none of bandmill's"
echo 'complete -c bandmill' | holds $fish
for kind in link folder; do
    rm $fish
    case $kind in link) ln -s ../../../nowhere $fish ;; folder) mkdir $fish ;; esac
    bm completions install fish; refused 2 "$PWD/$fish is there"
    absent nowhere
done
[ -z "$(find . -name '*.[0-9]*')" ] || fail "something is left: $(find . -name '*.[0-9]*')"

# --- refusals ---
bm completions; refused 2 'completions without a task \(expected completions install\)'
bm completions remove; refused 2 'completions without a task'
bm completions install csh; refused 2 'no completions for the shell "csh" \(bash, zsh or fish\)'
SHELL=/bin/dash; bm completions install; refused 2 'no completions for the shell "/bin/dash"'
unset SHELL; bm completions install; refused 2 'no shell'
unset HOME; bm completions install bash; refused 2 'no home directory \(expected HOME, or XDG_DATA_HOME\)'
export XDG_DATA_HOME=/proc/nowhere
bm completions install bash; exits 4; says ../err '/proc/nowhere.*: cannot write: '
