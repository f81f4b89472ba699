//! Processes, signals, pipes, terminals that the command itself opens, and queries of a session to the system.

use super::{Task, task};

pub(super) const TASKS: &[Task] = &[
    task(
        "process_substitution",
        &[],
        "diff <(printf 'a\\nb\\n') <(printf 'a\\nc\\n') > said || true; tee >(cat > copy) <<< both > /dev/null; wait",
        "grep -q '> c' said; grep -qx both copy",
    ),
    task(
        "background_jobs",
        &[],
        "for i in 1 2 3; do echo $i > $i & done; wait; cat 1 2 3 > said",
        "test \"$(tr -d '\\n' < said)\" = 123",
    ),
    task("pipelines", &[], "seq 100000 | grep 7 | sort -rn | head -1 > said || true", "grep -qx 99997 said"),
    task("here_documents", &[], "cat > said << END\nhere $((6 * 7))\nEND", "grep -qx 'here 42' said"),
    task(
        "signals_between_own_processes",
        &[],
        r#"mkfifo ready; bash -c 'trap "echo caught > said; kill \$idle; exit 0" USR1; tail -f /dev/null & idle=$!; echo > ready; wait' & child=$!
           read -r < ready; kill -0 $child; kill -USR1 $child; wait $child"#,
        "grep -qx caught said",
    ),
    task(
        "process_group_killed",
        &[],
        "set -m; (cat <> /dev/zero > /dev/null & wait) & group=$!; kill -- -$group; if wait $group; then exit 1; fi; echo ended > said",
        "grep -qx ended said",
    ),
    task(
        "ps_shows_own_processes",
        &["ps"],
        "ps -o pid=,comm= -p $$ > said; ps -e > all",
        "grep -q bash said; grep -q bash all",
    ),
    task(
        "proc_of_self",
        &[],
        "cat /proc/self/status /proc/meminfo /proc/cpuinfo /proc/self/mountinfo > /dev/null; readlink /proc/self/exe > said; nproc > count",
        "test -s said; test \"$(cat count)\" -gt 0",
    ),
    task(
        "time_limit",
        &["timeout"],
        "code=0; timeout 0.1 tail -f /dev/null || code=$?; echo $code > said",
        "grep -qx 124 said",
    ),
    task("limits_lowered", &[], "(ulimit -n 64; ulimit -c 0; ulimit -n) > said", "grep -qx 64 said"),
    task(
        "priority_lowered",
        &["nice"],
        "nice > before; nice -n 5 nice > said",
        // The tests themselves may run at any priority; 19 is the lowest.
        "test \"$(cat said)\" -gt \"$(cat before)\" || test \"$(cat said)\" = 19",
    ),
    task(
        "priority_of_own_process_changed",
        &["renice", "ps"],
        "cat > /dev/null < <(tail -f /dev/null) & renice 19 $! > /dev/null; ps -o ni= -p $! > said; renice 19 $$; nice >> said; kill $!",
        "test \"$(tr -d ' \\n' < said)\" = 1919",
    ),
    task("session_of_its_own", &["setsid"], "setsid -w sh -c 'echo apart > said'", "grep -qx apart said"),
    task(
        "environment_emptied",
        &[],
        "env -i /bin/sh -c 'echo bare $HOME' > said",
        "grep -qx 'bare ' said || grep -qx bare said",
    ),
    task(
        "who_and_where",
        &[],
        "id -u > said; id -un > name || true; hostname > host || uname -n > host; uname -a > /dev/null; pwd >> said",
        "test -s said; test -s host",
    ),
    task(
        "locale_and_date",
        &[],
        "LC_ALL=C.UTF-8 bash -c 'x=äö; echo ${#x}' > said; TZ=UTC date -d @0 +%Y >> said; date > /dev/null",
        "test \"$(tr -d '\\n' < said)\" = 21970",
    ),
    task(
        "sudo_fails_cleanly",
        &["sudo"],
        "if [ \"$(id -u)\" = 0 ]; then echo no need > said; elif sudo -n true 2> said; then exit 1; fi",
        "test -s said",
    ),
    task(
        "su_fails_cleanly",
        &["su"],
        "if [ \"$(id -u)\" = 0 ]; then echo no need > said; elif su -c true < /dev/null > said 2>&1; then exit 1; fi",
        "test -s said",
    ),
    task(
        "terminal_by_script",
        &["script"],
        "script -qec 'tty; test -t 0' /dev/null < /dev/null > said",
        "grep -q /dev/pts said",
    ),
    task(
        "terminal_by_python",
        &["python3"],
        "python3 -c 'import pty; pty.spawn([\"sh\", \"-c\", \"tty; stty size\"])' < /dev/null > said",
        "grep -q /dev/pts said",
    ),
    task(
        "terminal_by_tmux",
        &["tmux"],
        // Not with `tmux wait-for`, which may wait forever for a server whose last session is just ending.
        "export TMUX_TMPDIR=$PWD; mkfifo done; tmux -f /dev/null new-session -d -x 80 -y 24 'tty > said; echo > done'; read -r < done || true",
        "grep -q /dev/pts said",
    ),
    task(
        // In the default directory for its sockets, it would meet the user's own server.
        "terminal_by_tmux_with_a_server_of_its_own",
        &["tmux"],
        "unset TMUX; mkfifo done; tmux -f /dev/null new-session -d -s task -x 80 -y 24 'echo ready > done; cat'; read -r < done; tmux run-shell -t task 'echo ran > said'; tmux kill-server",
        "grep -qx ran said",
    ),
    task(
        "network_interfaces_listed",
        &["python3"],
        "python3 -c 'import socket; print([n for _, n in socket.if_nameindex()])' > said",
        "test -s said",
    ),
    task(
        "name_of_localhost",
        &["python3"],
        "python3 -c 'import socket; print(socket.gethostbyname(\"localhost\"))' > said",
        "grep -qx 127.0.0.1 said",
    ),
    task(
        "event_descriptors",
        &["python3"],
        "python3 -c 'import select, signal, os; e = select.epoll(); r, w = os.pipe(); e.register(r); os.write(w, b\"x\"); print(len(e.poll(5))); os.pidfd_open(os.getpid()); m = os.memfd_create(\"m\"); os.write(m, b\"y\")' > said",
        "grep -qx 1 said",
    ),
    task(
        // The sockets are of another type than requested, and still preserve the boundaries of messages.
        "pair_of_sockets_for_datagrams",
        &["python3"],
        r#"python3 -c '
import array, os, socket
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
assert not os.get_inheritable(one.fileno())
one.send(b"first"); one.send(b"second"); one.sendmsg([b"th", b"ird"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
print([other.recv(100), other.recv(100), other.recvmsg(100, 100)[0]], file=open("said", "w"))
if os.fork() == 0:
    other.send(b"of a child"); os._exit(0)
print(one.recv(100), file=open("heard", "w")); os.wait()
one.setblocking(False)
try: one.recv(1); raise SystemExit("nothing was sent")
except BlockingIOError: pass
'"#,
        r#"grep -qF "[b'first', b'second', b'third']" said; grep -q 'of a child' heard"#,
    ),
    task(
        "files_watched_by_inotify",
        &["python3"],
        r#"python3 -c '
import ctypes, os
libc = ctypes.CDLL(None)
one = libc.inotify_init1(os.O_CLOEXEC)
assert one >= 0 and not os.get_inheritable(one)
assert libc.inotify_add_watch(one, b".", 0x100) > 0
open("made", "w").close()
print(os.read(one, 4096)[16:20].decode(), file=open("said", "w"))
'"#,
        "grep -qx made said",
    ),
    task(
        "log_messages_do_no_harm",
        &["logger", "python3"],
        r#"logger -t task hello 2> said || true; python3 -c 'import syslog; syslog.syslog("hello")'; echo logged >> said"#,
        "grep -q logged said",
    ),
    task(
        "agent_of_ssh",
        &["ssh-agent", "ssh-add", "ssh-keygen"],
        r#"ssh-keygen -q -t ed25519 -N '' -f key; eval "$(ssh-agent -a $PWD/agent)" > /dev/null; ssh-add -q key; ssh-add -l > said; kill $SSH_AGENT_PID"#,
        "grep -qi ed25519 said",
    ),
    task(
        "agent_of_gpg",
        &["gpg-agent", "gpg-connect-agent"],
        "export GNUPGHOME=$PWD/g; mkdir -m 700 g; gpg-agent --homedir g --daemon > /dev/null; gpg-connect-agent --homedir g 'GETINFO version' /bye > said; gpg-connect-agent --homedir g KILLAGENT /bye > /dev/null",
        "grep -q OK said",
    ),
    task(
        "many_processes",
        &[],
        "for i in $(seq 200); do /bin/true & done; wait; echo all > said",
        "grep -qx all said",
    ),
];
