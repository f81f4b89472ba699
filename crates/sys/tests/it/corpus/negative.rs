//! Programs that do not wait for input, although they look like it.

use super::{Case, Expected};

const fn busy(
    name: &'static str,
    needs: &'static [&'static str],
    script: &'static str,
    marker: &'static str,
) -> Case {
    Case { name, needs, script, marker, expected: Expected::Busy }
}

pub(super) const CASES: &[Case] = &[
    // Programs that let time pass.
    busy("sleep", &[], "echo ready; exec sleep 1000", "ready"),
    busy("a prompt, then sleep", &[], "printf 'Password: '; sleep 1000", "Password: "),
    busy("a hidden prompt, then sleep", &[], "stty -echo; printf 'Password: '; sleep 1000", "Password: "),
    busy("timeout", &[], "echo ready; exec timeout 1000 sleep 1000", "ready"),
    busy(
        "node: setTimeout()",
        &["node"],
        "exec node -e 'console.log(\"ready\"); setTimeout(() => {}, 1e9)'",
        "ready",
    ),
    busy(
        "perl: select()",
        &["perl"],
        "exec perl -e '$| = 1; print \"ready\"; select undef, undef, undef, 0.01 while 1'",
        "ready",
    ),
    // Programs that compute.
    busy("a busy loop", &[], "echo ready; while :; do :; done", "ready"),
    busy(
        "gcc",
        &["gcc"],
        "i=0; while [ $i -lt 3000 ]; do echo \"int f$i(int x) { int a[9]; for (int i = 0; i < 9; i++) a[i] = x * i + $i; return a[x % 9]; }\"; i=$((i + 1)); done >big.c; \
         echo ready; while :; do gcc -O2 -c big.c; done",
        "ready",
    ),
    busy(
        "git, again and again",
        &["git"],
        "git init -q .; echo ready; while :; do git status >status; done",
        "ready",
    ),
    busy("yes", &[], "exec yes ready", "ready"),
    // Programs that wait for the output of others.
    busy("cat, from a fifo", &[], "mkfifo fifo; sleep 1000 >fifo & echo ready; exec cat fifo", "ready"),
    busy("a fifo nobody opens", &[], "mkfifo fifo; echo ready; exec cat fifo", "ready"),
    busy("a pipeline", &[], "echo ready; sleep 1000 | cat", "ready"),
    busy("xargs, from a pipe", &[], "echo ready; sleep 1000 | xargs echo", "ready"),
    busy("tail -f", &[], "echo ready >f; exec tail -f f", "ready"),
    busy(
        "script: sleep behind it",
        &["script"],
        "exec script -qec 'echo ready; sleep 1000; :' /dev/null",
        "ready",
    ),
    busy(
        "expect, for a pattern",
        &["expect"],
        "exec expect -c 'set timeout -1; spawn sleep 1000; puts ready; expect never'",
        "ready",
    ),
    busy(
        "expect: interact with sleep",
        &["expect"],
        "exec expect -c 'spawn sh -c \"echo ready; sleep 1000; :\"; interact'",
        "ready\r",
    ),
    // Programs that wait for the network.
    busy("python3: recv()", &["python3"], "exec python3 silent.py recv", "ready"),
    busy("python3: select()", &["python3"], "exec python3 silent.py select", "ready"),
    busy("python3: epoll()", &["python3"], "exec python3 silent.py epoll", "ready"),
    busy(
        "python3 -m http.server",
        &["python3"],
        "exec python3 -u -m http.server --bind 127.0.0.1 0",
        "Serving HTTP",
    ),
    busy(
        "node: a server",
        &["node"],
        "exec node -e 'require(\"http\").createServer().listen(0, \"127.0.0.1\", () => console.log(\"ready\"))'",
        "ready",
    ),
    busy(
        "curl",
        &["curl", "python3"],
        "python3 silent.py serve port & until [ -s port ]; do :; done; \
         exec curl -v http://127.0.0.1:$(cat port)/",
        "GET /",
    ),
    busy("nc -d", &["nc"], "echo ready; exec nc -d -l 127.0.0.1 0", "ready"),
    // Processes and threads that wait for each other.
    busy("bash: wait", &[], "exec bash -c 'sleep 1000 & echo ready; wait'", "ready"),
    busy(
        "make, running sleep",
        &["make"],
        "printf 'all:\\n\\t@echo ready\\n\\t@sleep 1000\\n' >Makefile; exec make",
        "ready",
    ),
    busy(
        "flock",
        &["flock"],
        "flock held sleep 1000 & until [ -e held ]; do :; done; until ! flock -n held true; do :; done; \
         echo ready; exec flock held true",
        "ready",
    ),
    busy(
        "python3: a thread's lock",
        &["python3"],
        "exec python3 -c 'import threading; print(\"ready\", flush=True); \
         l = threading.Lock(); l.acquire(); l.acquire()'",
        "ready",
    ),
    busy("a child in the background", &[], "exec bash -mc 'cat & echo ready; sleep 1000'", "ready"),
    busy(
        "a stopped job's shell",
        &[],
        "exec bash -c 'sleep 1000 & kill -STOP $!; echo ready; wait'",
        "ready",
    ),
    // Programs of which one part reads, and another part works.
    busy("a thread reads: main computes", &["python3"], "exec python3 beside.py compute", "ready"),
    busy("a thread reads: main sleeps", &["python3"], "exec python3 beside.py sleep", "ready"),
    busy(
        "a thread reads: main sleeps and works",
        &["python3"],
        "exec python3 beside.py 'sleep, work'",
        "ready",
    ),
    busy(
        "a thread reads: main's child sleeps",
        &["python3"],
        "exec python3 beside.py 'child sleeps'",
        "ready",
    ),
    busy(
        "a thread reads: main's child computes",
        &["python3"],
        "exec python3 beside.py 'child computes'",
        "ready",
    ),
    busy(
        "a thread reads: a child's output",
        &["python3"],
        "exec python3 beside.py 'output of a child'",
        "ready",
    ),
    busy("polls every 10 ms, works", &["python3"], "exec python3 beside.py poll 0.01 0.005", "ready"),
    busy("polls every 50 ms, works", &["python3"], "exec python3 beside.py poll 0.05 0.02", "ready"),
    busy("polls every ms, works", &["python3"], "exec python3 beside.py poll 0.001 0.1", "ready"),
    busy(
        "node: resume(), work by the clock",
        &["node"],
        "exec node -e 'process.stdin.resume(); console.log(\"ready\"); \
         setInterval(() => { const end = Date.now() + 5; while (Date.now() < end); }, 20)'",
        "ready",
    ),
    busy(
        "node: resume(), a worker",
        &["node"],
        "exec node -e 'process.stdin.resume(); console.log(\"ready\"); \
         new (require(\"worker_threads\").Worker)(\"for (;;);\", { eval: true })'",
        "ready",
    ),
    busy(
        "node: resume(), a child computes",
        &["node"],
        "exec node -e 'process.stdin.resume(); console.log(\"ready\"); \
         require(\"child_process\").spawn(\"sh\", [\"-c\", \"while :; do :; done\"])'",
        "ready",
    ),
    busy(
        "node: resume(), a long timer",
        &["node"],
        "exec node -e 'process.stdin.resume(); console.log(\"ready\"); setTimeout(() => {}, 30000)'",
        "ready",
    ),
    busy("cat, a busy loop in its group", &[], "while :; do :; done & echo ready; exec cat", "ready"),
    busy(
        "cat, bursts of work in its group",
        &["python3"],
        "python3 -c 'import time\nwhile True: time.sleep(0.01); sum(range(200000))' & echo ready; exec cat",
        "ready",
    ),
    busy("cat, a clock in its group", &[], "(while :; do echo ready; sleep 1; done) & exec cat", "ready"),
    busy("cat, a late word in its group", &[], "(sleep 1000; echo done) & echo ready; cat; :", "ready"),
    busy("cat in the background, sleep", &[], "cat </dev/tty & echo ready; sleep 1000; :", "ready"),
    busy("cat in the background, exec sleep", &[], "cat </dev/tty & echo ready; exec sleep 1000", "ready"),
    busy("cat in the background, work", &[], "cat </dev/tty & echo ready; while :; do :; done", "ready"),
    busy(
        "ssh: sleep on the far side",
        &["ssh", "ssh_server"],
        "$PEERS/python ssh_server.py port & until [ -s port ]; do :; done; \
         exec ssh -F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
         -p \"$(cat port)\" someone@127.0.0.1 'sleep 30'",
        "ready",
    ),
    busy(
        "script: work behind it",
        &["script"],
        "exec script -qec 'echo ready; while :; do :; done' /dev/null",
        "ready",
    ),
    busy(
        "script: a thread reads behind it",
        &["script", "python3"],
        "exec script -qec 'python3 beside.py sleep' /dev/null",
        "ready",
    ),
    busy(
        "tmux, attached: sleep",
        &["tmux"],
        "SHELL=/bin/sh TMUX_TMPDIR=$PWD exec tmux -f /dev/null new-session 'echo inside; sleep 1000; :'",
        "inside",
    ),
    // Programs that read, and go on by the clock.
    busy("select: prints every 0.3 s", &["python3"], "exec python3 clock.py select prints 0.3", "ready"),
    busy("select: prints every 1 s", &["python3"], "exec python3 clock.py select prints 1", "ready"),
    busy("poll: prints every 0.3 s", &["python3"], "exec python3 clock.py poll prints 0.3", "ready"),
    busy("epoll: prints every 0.3 s", &["python3"], "exec python3 clock.py epoll prints 0.3", "ready"),
    busy("timerfd: prints every 0.3 s", &["python3"], "exec python3 clock.py timerfd prints 0.3", "ready"),
    busy("alarm: prints every 0.1 s", &["python3"], "exec python3 clock.py alarm prints 0.1", "ready"),
    busy("fork: prints every 0.3 s", &["python3"], "exec python3 clock.py fork prints 0.3", "ready"),
    busy("fork: prints every 1000 s", &["python3"], "exec python3 clock.py fork prints 1000", "ready"),
    busy(
        "bash: read -t, prints",
        &[],
        "exec bash -c 'echo ready; until read -t 0.3 line; do echo tick; done'",
        "ready",
    ),
    busy(
        "bash: a loop with read -t 1",
        &[],
        "exec bash -c 'echo ready; until read -t 1 line; do echo tick; done'",
        "ready",
    ),
    busy(
        "perl: alarm, prints",
        &["perl"],
        "exec perl -e '$| = 1; $SIG{ALRM} = sub { print \"tick\\n\"; Time::HiRes::ualarm(100000) }; use Time::HiRes; \
         print \"ready\\n\"; Time::HiRes::ualarm(100000); <STDIN> while 1'",
        "ready",
    ),
    busy(
        "a thread's Event.wait(): prints",
        &["python3"],
        "exec python3 clock.py \"thread\" prints 0.1",
        "ready",
    ),
    busy(
        "a thread's Condition.wait(): prints",
        &["python3"],
        "exec python3 clock.py \"thread's condition\" prints 0.1",
        "ready",
    ),
    busy(
        "a parent that waits: prints",
        &["python3"],
        "exec python3 clock.py \"parent waits\" prints 0.1",
        "ready",
    ),
    busy(
        "a parent that polls: prints",
        &["python3"],
        "exec python3 clock.py \"parent polls\" prints 0.1",
        "ready",
    ),
    busy(
        "a parent's alarm: prints",
        &["python3"],
        "exec python3 clock.py \"parent's alarm\" prints 0.1",
        "ready",
    ),
    busy(
        "a child in its own session: prints",
        &["python3"],
        "exec python3 clock.py \"left\" prints 0.1",
        "ready",
    ),
    busy(
        "a child in its own group: prints",
        &["python3"],
        "exec python3 clock.py \"left, group\" prints 0.1",
        "ready",
    ),
    busy(
        "a child's output, own session: prints",
        &["python3"],
        "exec python3 clock.py \"left, pipe\" prints 0.1",
        "ready",
    ),
    busy("a child that prints", &["python3"], "exec python3 clock.py \"child\" prints 0.1", "ready"),
    busy(
        "a thread's child: prints",
        &["python3"],
        "exec python3 clock.py \"thread's child\" prints 0.1",
        "ready",
    ),
    busy(
        "a thread's child, own session: prints",
        &["python3"],
        "exec python3 clock.py \"thread's child, own session\" prints 0.1",
        "ready",
    ),
    busy("a writer, thread: prints", &["python3"], "exec python3 clock.py \"writer\" prints 0.1", "ready"),
    busy(
        "a writer, select(): prints",
        &["python3"],
        "exec python3 clock.py \"writer, select\" prints 0.1",
        "ready",
    ),
    busy(
        "a writer, socket: prints",
        &["python3"],
        "exec python3 clock.py \"writer, socket\" prints 0.1",
        "ready",
    ),
    busy(
        "a writer, own session: prints",
        &["python3"],
        "exec python3 clock.py \"writer, own session\" prints 0.1",
        "ready",
    ),
    busy(
        "a writer that works, own session: prints",
        &["python3"],
        "exec python3 clock.py \"writer, own session, works\" prints 0.1",
        "ready",
    ),
    busy(
        "a writer, own session, select(): prints",
        &["python3"],
        "exec python3 clock.py \"writer, own session, select\" prints 0.1",
        "ready",
    ),
    busy("a pidfd: prints", &["python3"], "exec python3 clock.py \"pidfd\" prints 0.1", "ready"),
    busy(
        "a child's end, by signal: prints",
        &["python3"],
        "exec python3 clock.py \"child's end\" prints 0.1",
        "ready",
    ),
    busy(
        "node: a detached child's end: prints",
        &["node"],
        "exec node -e 'const start = () => require(\"child_process\").spawn(\"sleep\", [\"0.1\"], \
         {detached: true, stdio: \"ignore\"}).on(\"exit\", () => { console.log(\"tick\"); start(); }); \
         console.log(\"ready\"); start(); process.stdin.on(\"data\", () => {})'",
        "ready",
    ),
    busy(
        "setsid: prints beside cat",
        &["setsid"],
        "setsid sh -c 'while sleep 0.1; do echo tick; done' & echo ready; cat; :",
        "ready",
    ),
    busy(
        "a shell's read -t beside cat",
        &[],
        "exec bash -c 'mkfifo f; exec 9<>f; echo ready; cat <&0 & until read -t 0.1 line <&9; do echo tick; done'",
        "ready",
    ),
    // More programs that compute.
    busy("sha256sum", &[], "echo ready; exec sha256sum /dev/zero", "ready"),
    busy("a pipeline that works", &[], "echo ready; cat /dev/zero | gzip >/dev/null", "ready"),
    busy("find", &[], "echo ready; while :; do find /usr /etc >found 2>&1; done", "ready"),
    busy("openssl speed", &["openssl"], "exec openssl speed -seconds 1000 sha256", "Doing"),
    busy(
        "sqlite3: a long query",
        &["sqlite3"],
        "echo ready; exec sqlite3 :memory: \
         'with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c'",
        "ready",
    ),
    busy("node: a busy loop", &["node"], "exec node -e 'console.log(\"ready\"); for (;;);'", "ready"),
    busy("watch", &["watch"], "exec watch -n 1000 echo ready", "ready"),
    busy("perl: sleep()", &["perl"], "exec perl -e '$| = 1; print \"ready\"; sleep 1000'", "ready"),
    busy("tclsh: after", &["tclsh"], "echo 'puts ready; after 1000000' >x.tcl; exec tclsh x.tcl", "ready"),
    busy("fish: sleep", &["fish"], "exec fish --no-config -c 'echo ready; sleep 1000'", "ready"),
    busy("zsh: sleep", &["zsh"], "exec zsh -f -c 'echo ready; sleep 1000; :'", "ready"),
    busy("expect: sleep", &["expect"], "exec expect -c 'puts ready; sleep 1000'", "ready"),
    busy("strace", &["strace"], "exec strace -o trace sh -c 'echo ready; sleep 1000; :'", "ready"),
    busy(
        "gdb, running sleep",
        &["gdb"],
        "exec gdb -q -nx -batch -ex run --args sh -c 'echo ready; sleep 1000; :'",
        "ready\r",
    ),
    busy(
        "python3: subprocess.run()",
        &["python3"],
        "exec python3 -c 'import subprocess; print(\"ready\", flush=True); subprocess.run([\"sleep\", \"1000\"])'",
        "ready",
    ),
    busy(
        "node: execSync()",
        &["node"],
        "exec node -e 'console.log(\"ready\"); require(\"child_process\").execSync(\"sleep 1000\")'",
        "ready",
    ),
    busy(
        "redis-cli, blocked",
        &["redis-cli", "redis-server"],
        "redis-server --port 0 --unixsocket s --save '' >log & until redis-cli -s s ping >pong 2>&1; do :; done; \
         echo ready; exec redis-cli -s s blpop list 0",
        "ready",
    ),
    // Servers that never answer.
    busy(
        "git clone",
        &["git", "python3"],
        "python3 silent.py serve port & until [ -s port ]; do :; done; \
         exec git clone git://127.0.0.1:$(cat port)/x",
        "Cloning into",
    ),
    busy(
        "psql, connecting",
        &["psql", "python3"],
        "python3 silent.py serve port & until [ -s port ]; do :; done; echo ready; \
         exec psql -X -w -h 127.0.0.1 -p $(cat port) -U someone some",
        "ready",
    ),
    busy(
        "rsync",
        &["rsync", "python3"],
        "python3 silent.py serve port & until [ -s port ]; do :; done; echo ready; \
         exec rsync rsync://127.0.0.1:$(cat port)/x",
        "ready",
    ),
    busy(
        "npm view",
        &["npm", "python3"],
        "python3 silent.py serve port & until [ -s port ]; do :; done; echo ready; \
         exec npm view --registry http://127.0.0.1:$(cat port)/ some",
        "ready",
    ),
    busy(
        "ssh, connecting",
        &["ssh", "python3"],
        "python3 silent.py serve port & until [ -s port ]; do :; done; echo ready; \
         exec ssh -F none -p $(cat port) someone@127.0.0.1",
        "ready",
    ),
];
