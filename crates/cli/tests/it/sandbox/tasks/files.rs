//! Files of all kinds in the workspace, and the directories for temporary files.

use super::{Reach, Task, task};

pub(super) const TASKS: &[Task] = &[
    task(
        "write_and_run_a_script",
        &[],
        "printf '#!/bin/sh\\necho ran\\n' > s; chmod +x s; ./s > said",
        "grep -qx ran said; test -x s",
    ),
    task(
        "links_inside",
        &[],
        "echo a > a; ln a hard; ln -s a soft; echo b >> hard; cat soft > said",
        "test \"$(stat -c %h a)\" = 2; grep -qx b said; test -L soft",
    ),
    task(
        "rename_across_directories",
        &[],
        "mkdir -p one two; echo x > one/f; mv one/f two/g; mv two three; mv three/g .",
        "grep -qx x g; ! test -e two; test -d three",
    ),
    task(
        "modes_times_and_copies",
        &[],
        "umask 027; echo x > f; chmod 640 f; touch -d @1000 f; cp -p f g; cp -r . ../copied.tmp; rm -r ../copied.tmp",
        "test \"$(stat -c '%a %Y' g)\" = '640 1000'",
    ),
    task(
        "mapped_file_written",
        &["python3"],
        "head -c 4096 /dev/zero > m; python3 -c 'import mmap; f = open(\"m\", \"r+b\"); v = mmap.mmap(f.fileno(), 0); v[:6] = b\"mapped\"; v.flush()'",
        "head -c 6 m | grep -qx mapped",
    ),
    task(
        "large_sparse_file",
        &[],
        "truncate -s 4G s; printf end >> s; tail -c 3 s > said; rm s",
        "grep -qx end said",
    ),
    task(
        "large_real_file",
        &[],
        "head -c 67108864 /dev/urandom > r; sha256sum r > said; wc -c < r > size; rm r",
        "grep -qx 67108864 size; test -s said",
    ),
    task(
        "temporary_files",
        &[],
        "f=$(mktemp); d=$(mktemp -d); echo t > \"$f\"; echo t > \"$d/t\"; cat \"$f\" \"$d/t\" > said; rm -r \"$f\" \"$d\"",
        "test \"$(wc -l < said)\" = 2",
    ),
    task(
        "cache_in_temporary_directory",
        &[],
        "c=$(mktemp -d \"${TMPDIR:-/tmp}/cache-XXXXXX\"); mkdir -p \"$c/ab\"; echo object > \"$c/ab/cd\"; mv \"$c/ab/cd\" \"$c/ab/ef\"; cat \"$c/ab/ef\" > said; rm -r \"$c\"",
        "grep -qx object said",
    ),
    task(
        "shared_memory_directory",
        &[],
        "f=$(mktemp /dev/shm/task-XXXXXX); echo shared > \"$f\"; cat \"$f\" > said; rm \"$f\"",
        "grep -qx shared said",
    ),
    task(
        "devices",
        &[],
        "echo gone > /dev/null; head -c 5 /dev/zero | wc -c > said; head -c 8 /dev/urandom | wc -c >> said; head -c 8 /dev/random | wc -c >> said; if echo x 2> /dev/null > /dev/full; then exit 1; fi; echo out > /dev/stdout",
        "test \"$(tr -d '\\n' < said)\" = 588",
    ),
    task("fifo", &[], "mkfifo f; echo through > f & cat f > said; wait", "grep -qx through said"),
    task(
        "unix_socket_between_own_processes",
        &["python3"],
        "python3 -c 'import socket, os; l = socket.socket(socket.AF_UNIX); l.bind(\"s\"); l.listen()\nif os.fork() == 0:\n    c = socket.socket(socket.AF_UNIX); c.connect(\"s\"); c.sendall(b\"local\"); os._exit(0)\nprint(l.accept()[0].recv(9).decode())' > said",
        "grep -qx local said; test -S s",
    ),
    task(
        "abstract_socket_between_own_processes",
        &["python3"],
        "python3 -c 'import socket, os; l = socket.socket(socket.AF_UNIX); n = \"\\0task-%d\" % os.getpid(); l.bind(n); l.listen()\nif os.fork() == 0:\n    c = socket.socket(socket.AF_UNIX); c.connect(n); c.sendall(b\"local\"); os._exit(0)\nprint(l.accept()[0].recv(9).decode())' > said",
        "grep -qx local said",
    ),
    task(
        // No connection is accepted until all of them wait.
        "unix_sockets_that_wait_for_their_server",
        &["python3"],
        "python3 -c 'import socket, threading; l = socket.socket(socket.AF_UNIX); l.bind(\"s\"); l.listen(0)\ndef go():\n    c = socket.socket(socket.AF_UNIX); c.connect(\"s\"); c.sendall(b\"x\")\nt = [threading.Thread(target=go) for _ in range(5)]\nfor one in t: one.start()\nprint(b\"\".join(l.accept()[0].recv(1) for _ in t).decode())\nfor one in t: one.join()' > said",
        "grep -qx xxxxx said",
    ),
    task(
        "unix_socket_that_was_left_behind",
        &["python3"],
        "python3 -c 'import socket; l = socket.socket(socket.AF_UNIX); l.bind(\"s\"); l.listen(); l.close(); print(socket.socket(socket.AF_UNIX).connect_ex(\"s\"))' > said",
        "grep -qx 111 said",
    ),
    task(
        "objects_of_a_manager_process",
        &["python3"],
        "python3 -c 'import multiprocessing\nif __name__ == \"__main__\":\n    with multiprocessing.Manager() as m:\n        l = m.list(); p = multiprocessing.Process(target=l.append, args=(42,)); p.start(); p.join(); print(list(l))' > said",
        "grep -qxF '[42]' said",
    ),
    Task {
        reach: Reach::Loopback,
        ..task(
            // The server accepts no connection, so a connection beyond its queue waits until a signal comes.
            "connection_that_is_interrupted",
            &["python3"],
            "python3 -c 'import signal, socket\nclass Alarm(Exception): pass\ndef stop(*_): raise Alarm\nl = socket.socket(); l.bind((\"127.0.0.1\", 0)); l.listen(0); waiting = []\nfor _ in range(4):\n    c = socket.socket(); c.setblocking(False); c.connect_ex(l.getsockname()); waiting.append(c)\nsignal.signal(signal.SIGALRM, stop); signal.setitimer(signal.ITIMER_REAL, 0.1)\ntry: socket.socket().connect(l.getsockname()); print(\"connected\")\nexcept Alarm: print(\"interrupted\")' > said",
            "grep -qx interrupted said",
        )
    },
    task(
        "file_locks",
        &["flock", "python3"],
        "flock lock -c 'if flock -n lock true; then exit 1; fi; echo locked > said'; python3 -c 'import fcntl; f = open(\"l\", \"w\"); fcntl.lockf(f, fcntl.LOCK_EX); fcntl.flock(f, fcntl.LOCK_EX); print(\"both\")' >> said",
        "grep -qx locked said; grep -qx both said",
    ),
    task(
        "file_events",
        &["python3"],
        "python3 -c 'import ctypes, os; l = ctypes.CDLL(None); i = l.inotify_init(); l.inotify_add_watch(i, b\".\", 0x100); open(\"seen-file\", \"w\").close(); print(os.read(i, 4096)[16:].rstrip(b\"\\0\").decode())' > said",
        "grep -qx seen-file said",
    ),
    task(
        "database_with_write_ahead_log",
        &["sqlite3"],
        "sqlite3 d.db 'pragma journal_mode = wal; create table t (x); insert into t values (42);' > /dev/null; sqlite3 d.db 'select x from t' > said",
        "grep -qx 42 said",
    ),
    task(
        "tar_and_gzip",
        &["tar", "gzip"],
        "mkdir t; echo packed > t/f; tar -czf t.tgz t; rm -r t; tar -xzf t.tgz; gzip -k t/f; zcat t/f.gz > said",
        "grep -qx packed said; grep -qx packed t/f",
    ),
    task(
        "zip_and_unzip",
        &["zip", "unzip"],
        "echo zipped > f; zip -q f.zip f; rm f; unzip -q f.zip",
        "grep -qx zipped f",
    ),
    task(
        "patch",
        &["patch"],
        "printf 'one\\ntwo\\n' > f; printf -- '--- f\\n+++ f\\n@@ -1,2 +1,2 @@\\n one\\n-two\\n+three\\n' | patch -s f",
        "grep -qx three f",
    ),
    task(
        "rsync_inside",
        &["rsync"],
        "mkdir -p a/b; echo r > a/b/f; rsync -a a/ c/; echo longer > a/b/f; rsync -a --delete a/ c/",
        "grep -qx longer c/b/f",
    ),
    task(
        "find_and_xargs",
        &[],
        "mkdir d; touch d/1.c d/2.c d/3.h; find d -name '*.c' -print0 | xargs -0 rm; ls d > said",
        "test \"$(cat said)\" = 3.h",
    ),
    task("edit_with_sed", &[], "echo old > f; sed -i s/old/new/ f", "grep -qx new f"),
    task(
        "edit_with_vim",
        &["vim"],
        "echo old > f; vim -u NONE -es -c '%s/old/new/' -c wq f < /dev/null",
        "grep -qx new f",
    ),
    task("page_with_less", &["less"], "seq 100 | less > said", "test \"$(wc -l < said)\" = 100"),
    task(
        "home_that_cannot_be_written",
        &[],
        "if echo x 2> /dev/null > \"$HOME/.task\"; then rm \"$HOME/.task\"; fi; ls -A \"$HOME\" > /dev/null; echo went on > said",
        "grep -qx 'went on' said",
    ),
    task(
        "extended_attributes",
        &["python3"],
        "touch f; python3 -c 'import os; os.setxattr(\"f\", \"user.a\", b\"1\"); print(os.getxattr(\"f\", \"user.a\").decode())' > said",
        "grep -qx 1 said",
    ),
];
