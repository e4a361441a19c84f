#!/bin/sh
# The demo's agent: a plain command. It knows its task from the environment, works in the tree it
# was started in, and says by its exit code that it is done. A real one would ask a model here.
set -e
think() { echo "$1"; sleep "${2:-0.4}"; }
file() { mkdir -p "$(dirname "$1")"; cat > "$1"; echo "wrote $1"; }
# A library with one function and its test.
unit() {
    file "lib/$1.sh" <<END
$1() { $2; }
END
    file "tests/$1.sh" <<END
. ./lib/numbers.sh
[ -f lib/mul.sh ] && . ./lib/mul.sh
. ./lib/$1.sh
[ "\$($3)" = "$4" ] || { echo "$3 should be $4, is \$($3)"; exit 1; }
END
}

think "reading: $SHIPMATE_SUBJECT"
[ -z "$SHIPMATE_FEEDBACK" ] || think "it came back: $(echo "$SHIPMATE_FEEDBACK" | head -n 1)"
case "$SHIPMATE_TASK_ALIAS" in
numbers)
    think "numbers are digits, perhaps with a minus" 0.6
    file lib/numbers.sh <<'END'
is_number() { echo "$1" | grep -Eq '^-?[0-9]+$'; }
END
    file tests/numbers.sh <<'END'
. ./lib/numbers.sh
is_number 12 && is_number -3 && ! is_number x1 || { echo "numbers are told wrongly"; exit 1; }
END
    ;;
add) think "that is easy" && unit add 'echo $(($1 + $2))' 'add 2 3' 5 ;;
sub) think "the order matters" && unit sub 'echo $(($1 - $2))' 'sub 9 4' 5 ;;
mul)
    # The first try is wrong on purpose: the gate finds it, and the second one mends it.
    if [ -z "$SHIPMATE_FEEDBACK" ]; then
        think "a product is a kind of sum" && unit mul 'echo $(($1 + $2))' 'mul 6 7' 42
    else
        think "no, it is not" && unit mul 'echo $(($1 * $2))' 'mul 6 7' 42
    fi
    ;;
div) think "by zero?" 0.8 && unit div '[ "$2" != 0 ] || { echo "no quotient by zero"; return; }; echo $(($1 / $2))' 'div 7 0' 'no quotient by zero' ;;
pow) think "a product of the same" && unit pow 'p=1; i=0; while [ $i -lt $2 ]; do p=$(mul $p $1); i=$((i + 1)); done; echo $p' 'pow 2 10' 1024 ;;
mod) think "what is left" && unit mod 'echo $(($1 % $2))' 'mod 17 5' 2 ;;
say) think "three digits at a time" 1.5 && unit say 'echo "$1" | sed -e :a -e "s/\([0-9]\)\([0-9]\{3\}\)\($\|,\)/\1,\2\3/;ta"' 'say 1234567' '1,234,567' ;;
choose)
    think "one sign, one function"
    file lib/choose.sh <<'END'
choose() {
    case "$2" in
    +) add "$1" "$3" ;;
    -) sub "$1" "$3" ;;
    x) mul "$1" "$3" ;;
    /) div "$1" "$3" ;;
    ^) pow "$1" "$3" ;;
    %) mod "$1" "$3" ;;
    *) echo "no such operation: $2" ;;
    esac
}
END
    file tests/choose.sh <<'END'
for f in lib/*.sh; do . "./$f"; done
[ "$(choose 2 + 3)" = 5 ] && [ "$(choose 6 x 7)" = 42 ] || { echo "it chooses wrongly"; exit 1; }
END
    ;;
calc)
    think "putting it together" 0.8
    file calc <<'END'
#!/bin/sh
cd "$(dirname "$0")"
for f in lib/*.sh; do . "./$f"; done
is_number "$1" && is_number "$3" || { echo "usage: calc NUMBER SIGN NUMBER" >&2; exit 2; }
say "$(choose "$1" "$2" "$3")"
END
    chmod +x calc
    file tests/calc.sh <<'END'
[ "$(./calc 1200 x 1000)" = "1,200,000" ] || { echo "calc is wrong: $(./calc 1200 x 1000)"; exit 1; }
END
    ;;
help)
    think "what would a newcomer ask?"
    echo "calc NUMBER SIGN NUMBER, where SIGN is one of + - x / ^ %" | file HELP.txt
    echo 'grep -q SIGN HELP.txt || { echo "the help does not help"; exit 1; }' | file tests/help.sh
    ;;
readme) think "an example says more" && printf '# calc\n\n    ./calc 6 x 7\n' | file README.md ;;
*) echo "this agent does not know the task $SHIPMATE_TASK_ALIAS" && exit 1 ;;
esac
think "done" 0.2
