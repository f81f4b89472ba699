//! Programs that run another one and watch it.

use super::{case, check};

#[test]
fn what_watches_another_program_writes_and_runs_nothing_else() {
    check(&[
        case(
            "strace",
            &[
                "strace -c true",
                "strace -f -e trace=openat cat x",
                "strace -fttT -s 200 -y cat x",
                "strace --follow-forks --trace=%file cat x",
                "strace -k -v -x cat x",
                "strace -yy -qq --stack-traces cat x",
            ],
            &[
                "strace -o M cat x",
                "strace -oM cat x",
                "strace -fo M cat x",
                "strace -ffoM cat x",
                "strace --output=M cat x",
                "strace --outp M cat x",
                "strace -o '|./x' cat y",
                "strace -o '!./x' cat y",
                "strace -fo'|./x' cat y",
                "strace --output='|./x' cat y",
                "strace ./x",
                "strace -c ./x",
                "strace -E LD_PRELOAD=./x cat y",
                "strace --env=PATH=. cat y",
                "strace -p 1",
                "strace --att=1",
                "strace -e inject=openat:retval=3 cat x",
                "strace -e fault=all cat x",
                "strace --inject=openat:retval=3 cat x",
                "strace -u root cat x",
                "strace --surprise cat x",
            ],
        ),
        case(
            "ltrace",
            &["ltrace -c cat x", "ltrace -f -e malloc cat x"],
            &[
                "ltrace -o M cat x",
                "ltrace --output=M cat x",
                "ltrace -foM cat x",
                "ltrace ./x",
                "ltrace -p 1",
                "ltrace -u root cat x",
            ],
        ),
        case("gdb", &["gdb --version"], &["gdb ./x", "echo 'shell ./x' | gdb", "gdb <<< 'shell ./x'"]),
        case("perf", &["perf --version"], &["perf stat cat x", "perf record -o M cat x", "perf trace ./x"]),
        case("valgrind", &["valgrind --version"], &["valgrind cat x", "valgrind --log-file=M cat x"]),
        case(
            "time",
            &["time cat x", "/usr/bin/time -v cat x"],
            &["/usr/bin/time -o M cat x", "/usr/bin/time -vao M cat x"],
        ),
        case(
            "fakeroot",
            &["fakeroot cat x", "fakeroot -u cat x"],
            &[
                "fakeroot -l ./x.so cat y",
                "fakeroot --lib ./x.so cat y",
                "fakeroot --faked ./x cat y",
                "fakeroot --fak=./x cat y",
                "fakeroot -s M cat x",
                "fakeroot ./x",
            ],
        ),
        case(
            "setarch",
            &["setarch x86_64 cat x", "setarch -R cat x"],
            &["setarch x86_64 ./x", "setarch -R ./x"],
        ),
        case(
            "ssh-agent",
            &["ssh-agent -k"],
            &["ssh-agent ./x", "ssh-agent -a M", "ssh-agent -P ./x", "ssh-agent -t 5 ./x"],
        ),
        case("watch", &["watch -n 1 ls"], &["watch ./x", "watch --shotsdir M ls", "watch -s M ls"]),
    ]);
}
