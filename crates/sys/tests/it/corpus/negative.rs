//! Programs that do not wait for whoever sits at the terminal, however much they look like it.

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
    // Time passes.
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
    // Work.
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
    // Other people's output.
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
    // The network.
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
    // Each other.
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
];
