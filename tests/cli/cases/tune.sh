# SPDX-License-Identifier: Apache-2.0
# tune: the plans that fit a wish, on stdout, for scripts and people. Expected values: Leskovec, Rajaraman, Ullman, figure 3.8, for 20 bands
# of 5 rows; 42 bands of 3 rows by hand.
# shellcheck shell=sh disable=SC2034,SC2154
bm tune --threshold .5 --recall .99 --ceiling .05:.006 --perms 128; exits 0
says ../out '^42	3	126	2	0\.9963[0-9]*	0\.0052[0-9]*	no$'
says ../out '^35	3	105	23	0\.9906[0-9]*	0\.0043[0-9]*	yes$'
[ "$(sed '/^$/,$d' ../out | wc -l)" = 9 ] || fail 'not the 8 plans of 35 to 42 bands and a header'
says ../err '8 plans; chosen: 35 bands of 3 rows'

# on a terminal: the answer in words, ten plans and a picture; all tables under --all, and where there is no terminal
on_terminal() { "$PYTHON" -c 'import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$PROGRAM" "$@" < /dev/null 2> ../err | tr -d '\r' > ../out; }
on_terminal tune --threshold .5 --recall .99 -q
says ../out '^--bands [0-9]+ --rows [0-9]+ finds 9[0-9]\.[0-9] % of the pairs that are similar by 0\.5;$'
[ "$(grep -cE '^ [* ] +[0-9]+ +[0-9]+ +[0-9]+  [01]\.[0-9]{4}$' ../out)" = 10 ] || fail 'not ten plans'
[ "$(grep -c '^ \*' ../out)" = 1 ] || fail 'not one that is chosen'
[ "$(grep -cE '^ [01]\.[0-9] \|' ../out)" = 10 ] || fail 'no picture of ten lines'
says ../out '^     \+-{30}\^-{30}$'
on_terminal tune --threshold .5 --recall .99 -q --all; cp ../out all
bm tune --threshold .5 --recall .99 -q; exits 0; holds ../out < all
on_terminal tune --bands 20 --rows 5 -q; says ../out 'half of the pairs at 0\.51 become candidates, and one of a hundred at 0\.22\.'

# the ladder of 20 x 5
bm tune --bands 20 --rows 5 -q; exits 0; silent ../err
for step in '0\.2	0\.006' '0\.3	0\.047' '0\.4	0\.186' '0\.5	0\.470' '0\.6	0\.80[12]' '0\.7	0\.97[45]' '0\.8	0\.9996'; do
    says ../out "^$step"
done
says ../out '^bands	rows	steepest	steepest_about	slope	unused$'
says ../out '^20	5	0\.526363	0\.54928	3\.50606	0$'
bm tune --bands 20 --rows 5 --perms 128 --json; exits 0
says ../out '^\{"schema":1,"kind":"tune","perms":128,"threshold":0\.8,"recall":null,"ceiling":null,"plans":\[\{"bands":20,"rows":5,"words":100,"unused":28,'
says ../out '\{"similarity":0\.2,"probability":0\.00638'

# where P is .001, .01, .5, .99 and .999: of 20 x 5 by hand, (1 - (1 - p)^(1/20))^(1/5)
bm tune --bands 20 --rows 5 -q; exits 0
sed '1,/^probability/d' ../out > steps
printf '0.001\t0.137986\n0.01\t0.218881\n0.5\t0.508696\n0.99\t0.728845\n0.999\t0.781795\n' | holds steps

# more words than a signature has: computed, and said
bm tune --bands 9000 --rows 7; exits 0
says ../out '^9000	7	63000	0	1		yes$'
says ../err 'a signature has 1,024 words at most'
bm tune --threshold .5 --recall .99 --ceiling .05:.006 --perms 65536 -q; exits 0
says ../out '^35	3	105	65431	0\.9906'

# none fits: the least that has one; and that one has it
bm tune --threshold .5 --recall .99 --ceiling .05:.006 --perms 104; refused 1 'no plan of at most 104 .*the least number that has one is 105\)'
bm tune --threshold .5 --recall .99 --ceiling .05:.006 --perms 105 -q; exits 0
bm tune --threshold .9 --recall .99 --ceiling .9:.5; refused 1 '.*no number of permutations has one\)'
bm tune --threshold .9 --recall .99 --ceiling .9:.5 --json; exits 1; says ../err '^\{"error":\{"exit":1'

# options that are wrong
for ceiling in .5 .5: :.5 a:b 0:.5 1.1:.5 .5:0 .5:1 .5:.5x; do
    bm tune --ceiling $ceiling; refused 2 '--ceiling: .*expected S:P'
done
bm tune --threshold 0; refused 2 '--threshold'
bm tune --bands 20; refused 2 '--bands without --rows'
bm tune --bands 20 --rows 5 --recall .9; refused 2 '--recall with --bands'
bm tune --bands 20 --rows 5 --perms 99; refused 2 '--bands 20 --rows 5 use 100'
bm tune --perms 65537; refused 2 '--perms'
bm tune --bands 65537 --rows 1; refused 2 '--bands'
bm tune --bands 32769 --rows 2; refused 2 '--bands 32769 --rows 2 use 65538'

# a job names the command that shows its curve, and the command has its plan
printf '{"id":1,"text":"one two three four five six"}\n{"id":2,"text":"six five four three two one"}\n' > in.jsonl
for job in 'dedup -o out' pairs; do
    # shellcheck disable=SC2086
    bm $job in.jsonl --threshold .7 -v; exits 0
    says ../err '^bandmill: its curve: bandmill tune --bands 17 --rows 5 --threshold 0\.7 --perms 128$'
    bm pairs in.jsonl; exits 0
    ! grep -q 'its curve' ../err || fail 'said without -v'
done
bm tune --bands 17 --rows 5 --threshold 0.7 --perms 128 -q; exits 0; says ../out '^17	5	85	43	0\.956'
bm pairs in.jsonl --candidates all -v; exits 0
! grep -q 'its curve' ../err || fail 'a curve without a plan'
