# SPDX-License-Identifier: Apache-2.0
# complete_in_fish.fish SCRIPT LINES -- what the tab key would offer for each line of LINES: its number from 1, a tab and the word.
source $argv[1]
set number 0
while read -l line
    set number (math $number + 1)
    for answer in (complete -C $line)
        printf '%s\t%s\n' $number (string split -m 1 -f 1 \t -- $answer)
    end
end < $argv[2]
