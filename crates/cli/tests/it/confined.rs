//! Confined commands as people use them: what they may access, how denials are reported, and that nothing else differs.

mod explained;
mod neighbours;
mod opens;
mod reasons;
mod rules;
mod servers;
mod shared_memory;
mod sockets;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use windlass_testkit::{HANG, survivors};

use crate::mcp::Served;
use crate::rig::{Home, Seen, escapees, hold_escapees, nothing_survives};

/// A workspace inside a home directory, and a directory beside it.
struct Quarters {
    home: Home,
    work: PathBuf,
    outside: PathBuf,
}

/// All layers of the machine, and those that remain without namespaces.
const LAYERS: [&str; 2] = ["all", "landlock"];

impl Quarters {
    fn new(name: &str) -> Self {
        let home = Home::new(&format!("confined-{name}"));
        let (work, outside) = (home.path().join("work"), home.path().join("outside"));
        fs::create_dir(&work).unwrap();
        fs::create_dir(&outside).unwrap();
        Self { home, work, outside }
    }

    fn words<'a>(&'a self, layers: &'a str, policy: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let work = self.work.to_str().unwrap();
        [&["run", "-C", work, "--sandbox", policy, "--sandbox-layers", layers], more].concat()
    }

    fn run(&self, layers: &str, policy: &str, more: &[&str]) -> Seen {
        self.home.seen(&self.words(layers, policy, more))
    }

    fn json(&self, layers: &str, policy: &str, more: &[&str]) -> Value {
        self.home.json(&[&self.words(layers, policy, &["--json"])[..], more].concat())
    }

    fn outside(&self, name: &str) -> String {
        self.outside.join(name).display().to_string()
    }
}

#[test]
fn a_workspace_can_be_written_and_nothing_else() {
    let quarters = Quarters::new("write");
    let outside = quarters.outside("file");
    for layers in LAYERS {
        let script = format!("echo inside > file; cat file; echo no > '{outside}'");
        let seen = quarters.run(layers, "workspace-write", &["--", "sh", "-c", &script]);
        assert_eq!((seen.stdout.as_str(), seen.code), ("inside\n", 2), "{layers}: {seen:?}");
        assert!(!Path::new(&outside).exists(), "{layers}");
        let refused = format!("the sandbox refused: create {outside} [");
        assert!(seen.stderr.contains(&refused), "{layers}: {}", seen.stderr);
        let seen = quarters.run(layers, "read-only", &["--", "sh", "-c", "echo no > other"]);
        assert!(seen.code != 0 && !quarters.work.join("other").exists(), "{layers}: {seen:?}");
    }
}

#[test]
fn a_denial_is_a_fact_and_not_a_word_in_the_output() {
    let quarters = Quarters::new("evidence");
    let target = quarters.outside("silent");
    for layers in LAYERS {
        let words = ["--", "sh", "-c", "echo 'permission denied: Read-only file system' >&2; exit 1"];
        let liar = quarters.json(layers, "workspace-write", &words);
        assert_eq!(liar["denials"], json!([]), "{layers}");
        let script = format!("(echo x > '{target}') 2>/dev/null; (echo x > '{target}') 2>/dev/null; true");
        let silent = quarters.json(layers, "workspace-write", &["--", "sh", "-c", &script]);
        let denial = &silent["denials"][0];
        assert_eq!(denial["operation"], "create", "{layers}: {silent}");
        assert_eq!((&denial["target"], &denial["times"]), (&json!(target), &json!(2)), "{layers}");
        assert_eq!((&silent["exit_code"], &silent["output"]), (&json!(0), &json!("")), "{layers}");
    }
}

#[test]
fn every_kind_of_change_is_told_by_its_name() {
    let quarters = Quarters::new("kinds");
    let there = quarters.outside("there");
    fs::write(&there, "kept").unwrap();
    for layers in LAYERS {
        for (script, operation) in [
            (format!("echo x >> '{there}'"), "write"),
            (format!("mkdir '{there}.d'"), "make directory"),
            (format!("mkfifo '{there}.p'"), "make node"),
            (format!("rm -f '{there}'"), "remove"),
            (format!("mv '{there}' '{there}.2'"), "rename"),
            (format!("ln -s x '{there}.l'"), "link"),
            (format!("chmod 777 '{there}'"), "change mode"),
            (format!("touch -d yesterday '{there}'"), "change times"),
            (format!("truncate -s 0 '{there}'"), "write"),
        ] {
            let seen = quarters.json(layers, "workspace-write", &["--", "sh", "-c", &script]);
            let told: Vec<&str> = seen["denials"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|it| it["operation"].as_str())
                .collect();
            assert!(told.contains(&operation), "{layers} {script}: {seen}");
            assert_eq!(fs::read_to_string(&there).unwrap(), "kept", "{layers} {script}");
        }
    }
}

#[test]
fn what_goes_wrong_with_the_command_itself_is_said_as_without_a_sandbox() {
    let quarters = Quarters::new("errors");
    let plain = quarters.work.join("plain");
    fs::write(&plain, "no program").unwrap();
    let nowhere = quarters.outside("nowhere");
    let plain = plain.to_str().unwrap();
    for words in [
        &["--", "no-such-program-anywhere"][..],
        &["--", "/no/such/program"],
        &["--", plain],
        &["-C", &nowhere, "--", "true"],
    ] {
        let free = quarters.home.seen(&[&["run"], words].concat());
        for layers in LAYERS {
            let confined = ["run", "--sandbox", "read-only", "--sandbox-layers", layers];
            let confined = quarters.home.seen(&[&confined, words].concat());
            assert_eq!((confined.code, &confined.stderr), (free.code, &free.stderr), "{layers} {words:?}");
        }
    }
}

#[test]
fn what_may_not_be_read_is_not_there_to_read() {
    let quarters = Quarters::new("secret");
    let secret = quarters.outside("secret");
    fs::write(&secret, "hush").unwrap();
    fs::create_dir(quarters.outside.join("secrets")).unwrap();
    fs::write(quarters.outside.join("secrets/key"), "hush").unwrap();
    let pattern = format!("{}/**/key", quarters.outside.display());
    let words = [
        "--deny-read",
        &secret,
        "--deny-read",
        &pattern,
        "--",
        "sh",
        "-c",
        "cat ../outside/secret ../outside/secrets/key",
    ];
    for layers in LAYERS {
        let seen = quarters.run(layers, "workspace-write", &words);
        assert!(!seen.stdout.contains("hush"), "{layers}: {seen:?}");
        assert!(
            seen.stderr.contains(&format!("refused: read {secret} [deny {secret}]")),
            "{layers}: {seen:?}"
        );
    }
}

#[test]
fn commits_work_and_hooks_cannot_be_planted() {
    let quarters = Quarters::new("git");
    let work = quarters.work.to_str().unwrap();
    let git = |words: &[&str]| {
        let done = std::process::Command::new("git").arg("-C").arg(work).args(words).status().unwrap();
        assert!(done.success());
    };
    git(&["init", "--quiet", "."]);
    git(&["config", "user.email", "a@example.com"]);
    git(&["config", "user.name", "a"]);
    let script = "date +%s%N > f && git add f && git commit --quiet -m first && git log --oneline | wc -l
        echo evil > .git/hooks/pre-commit; git config core.hooksPath /tmp; echo x > .git/commondir; mv .git moved; rm -rf .git/hooks
        mkdir .codex; ls -A .git/hooks | grep -c pre-commit$; cat .git/config | grep -c hooksPath";
    for layers in LAYERS {
        let seen = quarters.run(layers, "workspace-write", &["--", "sh", "-c", script]);
        assert!(seen.stdout.starts_with('1') || seen.stdout.starts_with('2'), "{layers}: {seen:?}");
        for never in [".git/hooks/pre-commit", ".git/commondir", "moved", ".codex"] {
            assert!(!quarters.work.join(never).exists(), "{layers} {never}: {seen:?}");
        }
        assert!(
            !fs::read_to_string(quarters.work.join(".git/config")).unwrap().contains("hooksPath"),
            "{layers}"
        );
        assert!(seen.stderr.contains("commondir [protected: "), "{layers}: {seen:?}");
    }
}

#[test]
fn without_a_network_nothing_is_reached_and_the_address_is_told() {
    let quarters = Quarters::new("network");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let script = format!("echo > /dev/tcp/127.0.0.1/{}", address.port());
    for network in ["off", "loopback"] {
        let words = ["--network", network, "--", "bash", "-c", &script];
        let seen = quarters.json("all", "read-only", &words);
        assert_ne!(seen["exit_code"], 0, "{network}: {seen}");
        if network == "off" {
            assert_eq!(seen["denials"][0]["target"], address.to_string(), "{seen}");
            assert_eq!(seen["denials"][0]["operation"], "connect", "{seen}");
        }
    }
    let seen = quarters.json("landlock", "read-only", &["--", "bash", "-c", &script]);
    assert_eq!(seen["denials"][0]["operation"], "socket", "{seen}");
    let seen = quarters.run("all", "read-only", &["--network", "on", "--", "bash", "-c", &script]);
    assert_eq!(seen.code, 0, "{seen:?}");
}

#[test]
fn listed_hosts_are_reached_through_the_door_and_others_are_refused_by_name() {
    let quarters = Quarters::new("hosts");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello").unwrap();
    });
    let listed = format!("localhost:{port}");
    let script =
        format!("curl -sS http://localhost:{port}/; curl -sS -o /dev/null http://elsewhere.invalid/");
    let seen = quarters.json("all", "read-only", &["--network", &listed, "--", "sh", "-c", &script]);
    serving.join().unwrap();
    assert_eq!(seen["output"], "hello", "{seen}");
    assert_eq!(seen["denials"][0]["target"], "elsewhere.invalid:80", "{seen}");
}

#[test]
fn a_confined_tree_ends_with_its_session_whatever_it_does() {
    for layers in LAYERS {
        let quarters = Quarters::new("tree");
        let token = survivors::token("confined-tree");
        let script = escapees(&token, "TERM HUP INT");
        let mut running =
            quarters.home.start(&quarters.words(layers, "workspace-write", &["--", "sh", "-c", &script]));
        let held = hold_escapees(&mut running, &token);
        running.signal(windlass_sys::signal::Signal::TERM);
        running.exit_code();
        nothing_survives(&held, &token);
    }
}

#[test]
fn a_client_of_tools_is_told_what_was_denied() {
    let quarters = Quarters::new("tools");
    let outside = quarters.outside("x");
    let mut command = quarters.home.windlass(&["mcp", "--sandbox", "workspace-write"]);
    let mut served = Served::of(command.current_dir(&quarters.work));
    served.greet();
    let arguments = json!({ "cmd": format!("echo a > a; echo b > '{outside}'") });
    let answer = served.ask("call", "tools/call", &json!({ "name": "exec_command", "arguments": arguments }));
    let result = &answer["result"];
    assert_eq!(result["structuredContent"]["denials"][0]["target"], outside, "{answer}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(&format!("\nDenied: create {outside} [")), "{text}");
    assert!(quarters.work.join("a").exists());
    // The text of a reply costs tokens.
    let script = format!("for i in $(seq 40); do echo x > '{outside}'$i; done 2>/dev/null");
    let arguments = json!({ "cmd": script });
    let answer = served.ask("many", "tools/call", &json!({ "name": "exec_command", "arguments": arguments }));
    let result = &answer["result"];
    assert_eq!(result["structuredContent"]["denials"].as_array().map(Vec::len), Some(40), "{answer}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.matches("\nDenied: ").count(), 13, "{text}");
    assert!(text.contains("\nDenied: 28 more, which `denials` lists\n"), "{text}");
}

/// The removal fails without a sandbox as well.
#[test]
fn a_directory_that_is_not_empty_is_not_denied_its_removal() {
    for layers in LAYERS {
        let quarters = Quarters::new("filled");
        fs::create_dir_all(quarters.work.join(".git/refs")).expect("the name is free");
        let words = quarters.words(layers, "workspace-write", &["--", "sh", "-c", "rmdir .git"]);
        let seen = quarters.home.seen(&words);
        assert!(seen.stderr.contains("not empty") && !seen.stderr.contains("refused"), "{layers}: {seen:?}");
    }
}

#[test]
fn words_that_do_not_go_together_are_refused_before_anything_runs() {
    let quarters = Quarters::new("usage");
    for (words, expected) in [
        (&["--sandbox", "nothing"][..], "there is no policy `nothing`"),
        (
            &["--sandbox", "full-access", "--network", "off"],
            "--network does not go with the policy full-access",
        ),
        (&["--sandbox", "read-only", "--network", "of"], "--network of: give off, loopback, on"),
        (&["--sandbox", "read-only", "--network", "a b.c"], "--network a b.c: `a b.c` cannot be listed"),
        (&["--sandbox", "read-only", "--deny-read", "*.{pem,key"], "unclosed alternate group"),
    ] {
        let seen = quarters.home.seen(&[&["run"], words, &["--", "sh", "-c", "echo ran"]].concat());
        assert!(seen.code != 0 && seen.stdout.is_empty(), "{words:?}: {seen:?}");
        assert!(seen.stderr.contains(expected), "{words:?}: {}", seen.stderr);
    }
}

#[test]
fn limits_hold_a_confined_tree_and_name_what_ended_it() {
    let quarters = Quarters::new("limits");
    let many = "i=0; while [ $i -lt 200 ]; do sleep 100 & i=$((i+1)); done; wait";
    for layers in LAYERS {
        let seen = quarters.json(layers, "workspace-write", &["--processes", "40", "--", "sh", "-c", many]);
        let cause = seen["cause"].as_str().unwrap_or_default();
        assert!(cause.starts_with("process limit of 40"), "{layers}: {seen}");
        assert_eq!(seen["remaining"], json!([]), "{layers}: {seen}");
    }
}

#[test]
fn a_protected_name_cannot_be_made_by_a_detour() {
    let quarters = Quarters::new("detours");
    // Through a link whose target does not exist yet, through an open directory, and by replacing a link that has the
    // name.
    let script = "ln -s .windlass l; echo x > l; exec 7<.; echo x > /dev/fd/7/.agents; echo x > /proc/self/fd/7/.agents
        mkdir t; mv -T t .codex; rm .codex; ln -s /proc/self/cwd me; echo x > me/.agents; ls -A";
    std::os::unix::fs::symlink("elsewhere", quarters.work.join(".codex")).unwrap();
    for layers in LAYERS {
        let seen = quarters.run(layers, "workspace-write", &["--", "bash", "-c", script]);
        for never in [".windlass", ".agents"] {
            assert!(!quarters.work.join(never).exists(), "{layers} {never}: {seen:?}");
        }
        let link = fs::read_link(quarters.work.join(".codex")).unwrap();
        assert_eq!(link, Path::new("elsewhere"), "{layers}: {seen:?}");
        for made in ["l", "t", "me"] {
            let _ = fs::remove_file(quarters.work.join(made));
            let _ = fs::remove_dir(quarters.work.join(made));
        }
    }
}

/// If the server acted for the command, the command would not be confined.
#[test]
fn a_server_at_a_socket_does_nothing_for_a_confined_client() {
    let quarters = Quarters::new("socket");
    let socket = quarters.work.join("server");
    let listen = format!("unix://{}", socket.display());
    let mut server = quarters.home.windlass(&["app-server", "--listen", &listen]).spawn().unwrap();
    let deadline = windlass_testkit::hang_deadline();
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        assert!(Instant::now() < deadline, "nobody listens");
    }
    let script = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('server')
try:
    s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n'); print('answered', s.recv(99))
except OSError as error:
    print('cut off')";
    let free = ["run", "-C", quarters.work.to_str().unwrap(), "--", "python3", "-c", script];
    let served = quarters.home.seen(&free).stdout;
    assert!(served.contains("answered b'HTTP/1.1 426 "), "it answers others: {served}");
    let seen = quarters.run("all", "workspace-write", &["--", "python3", "-c", script]);
    assert!(seen.stderr.contains("a socket of a program outside"), "{seen:?}");
    // A rule can let a command connect. If the command has namespaces of its own, the server then rejects all its
    // requests.
    let named = ["--writable", socket.to_str().unwrap(), "--", "python3", "-c", script];
    let seen = quarters.run("all", "workspace-write", &named);
    assert!(seen.stdout.starts_with("answered b'HTTP/1.1 403 Forbidden"), "{seen:?}");
    // Without them, the kernel does not tell the server who its caller is, so the connection is denied.
    let seen = quarters.run("landlock", "workspace-write", &["--", "python3", "-c", script]);
    assert!(seen.stderr.contains("a socket of a program outside"), "{seen:?}");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn the_layers_that_keep_a_session_are_in_its_record() {
    let quarters = Quarters::new("record");
    for (layers, expected) in
        [("all", "namespaces, network namespace, landlock"), ("landlock", "off: landlock")]
    {
        quarters.run(layers, "read-only", &["--", "true"]);
        let listed = quarters.home.json(&["ps", "--json", "--all"]);
        let newest = listed.as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        let said = newest["sandbox"].as_str().unwrap_or_default();
        assert!(
            said.starts_with("read-only, network off: ") && said.contains(expected),
            "{layers}: {newest}"
        );
    }
}

#[test]
fn refusals_beyond_those_that_are_listed_are_counted() {
    let quarters = Quarters::new("many");
    let outside = quarters.outside("file");
    let script =
        format!("i=0; while [ $i -lt 270 ]; do mkdir '{outside}'$i; i=$((i+1)); done 2>/dev/null; true");
    let words = ["--", "sh", "-c", script.as_str()];
    for layers in LAYERS {
        let seen = quarters.json(layers, "workspace-write", &words);
        let denials = seen["denials"].as_array().unwrap();
        assert_eq!(denials.len(), 257, "{layers}: {seen}");
        assert_eq!(denials[255]["target"], format!("{outside}255"), "{layers}");
        assert_eq!(
            (&denials[256]["operation"], &denials[256]["times"]),
            (&json!("more"), &json!(14)),
            "{layers}"
        );
        let said = quarters.run(layers, "workspace-write", &words).stderr;
        assert!(
            said.contains("the sandbox refused 251 more, which --json lists, and 14 beside"),
            "{layers}: {said}"
        );
    }
}

/// A file that the supervisor creates for a program must be the same as if the program had created it.
#[test]
fn files_are_made_as_without_a_sandbox() {
    let quarters = Quarters::new("made");
    let script = r#"
        umask 027; echo text > file; mkdir -p dir/inner/; umask 0; echo x > open; mkfifo pipe
        (exec 9> file; umask 077; echo y >> file)
        stat -c '%n %a' file dir open pipe
        (echo through > pipe) & cat pipe; wait
        echo out > /dev/stdout; ln -s missing link; echo made > link; cat missing
        mkdir / 2>&1 || true; : > dir/ 2>/dev/null || echo directory
        ln file second; mv second third; rm third; ls -d [a-z]*
        exec 8>> file; ls -l /proc/self/fd/8 | sed 's/.*-> .*work/work/'
        (ulimit -n 5; exec 5< file; : > many) 2>/dev/null || echo no number left
    "#;
    let bare =
        quarters.home.seen(&["run", "-C", quarters.work.to_str().unwrap(), "--", "bash", "-c", script]);
    assert_eq!(bare.code, 0, "{bare:?}");
    for layers in LAYERS {
        fs::remove_dir_all(&quarters.work).unwrap();
        fs::create_dir(&quarters.work).unwrap();
        let seen = quarters.run(layers, "workspace-write", &["--", "bash", "-c", script]);
        assert_eq!(seen.stdout, bare.stdout, "{layers}: {seen:?}");
        assert_eq!(seen.code, 0, "{layers}: {seen:?}");
    }
}

#[test]
fn a_pipe_that_nobody_reads_keeps_nobody_else_waiting() {
    let quarters = Quarters::new("pipe");
    let script = "mkfifo pipe; (echo > pipe) & echo next > file; kill -9 $!; wait; cat file";
    for layers in LAYERS {
        let _ = fs::remove_file(quarters.work.join("pipe"));
        let seen = quarters.run(layers, "workspace-write", &["--", "sh", "-c", script]);
        assert_eq!(seen.stdout, "next\n", "{layers}: {seen:?}");
    }
}

/// When the supervisor opened a file for a program, it once kept the file open for a moment longer than the program,
/// and the file was busy then.
#[test]
fn what_was_just_written_can_be_executed_and_what_was_just_closed_is_closed() {
    const SCRIPT: &str = "import os
for at in range(300):
    file = os.open('program', os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o755)
    os.write(file, b'#!/bin/true')
    os.close(file)
    assert os.waitpid(os.posix_spawn('./program', ['program'], {}), 0)[1] == 0
os.mkfifo('closed')
for at in range(300):
    reader = os.open('closed', os.O_RDONLY | os.O_NONBLOCK)
    os.close(os.open('closed', os.O_WRONLY | os.O_CREAT))
    assert os.read(reader, 1) == b''
    os.close(reader)
print('all')";
    let quarters = Quarters::new("busy");
    for layers in LAYERS {
        let _ = fs::remove_file(quarters.work.join("closed"));
        let seen = quarters.run(layers, "workspace-write", &["--", "python3", "-c", SCRIPT]);
        assert_eq!(seen.stdout, "all\n", "{layers}: {seen:?}");
    }
}

/// Counts were once rounded to powers of two, and those after the first 256 were lost.
#[test]
fn denials_are_counted() {
    let quarters = Quarters::new("counted");
    for layers in LAYERS {
        let script =
            "for i in 1 2 3 4 5 6 7; do touch /etc/again; done; for i in $(seq 300); do touch /etc/a$i; done";
        let seen = quarters.json(layers, "workspace-write", &["--", "sh", "-c", script]);
        let denials = seen["denials"].as_array().expect("a list");
        let times =
            |target: &str| denials.iter().find(|it| it["target"] == target).map(|it| it["times"].clone());
        assert_eq!(times("/etc/again"), Some(json!(7)), "{layers}");
        let more = denials.iter().find(|it| it["operation"] == "more").expect("more than are listed");
        let counted = more["times"].as_u64().expect("a number");
        // Exact to a sixteenth.
        assert!((42..=45).contains(&counted), "{layers}: {counted}");
    }
}

/// A pipe was once opened for reading on trial and then again, and a program that wrote in between lost its data.
#[test]
fn a_pipe_is_opened_for_reading_once() {
    const SCRIPT: &str = "import os
os.mkfifo('once')
for _ in range(200):
    if os.fork() == 0:
        os.write(os.open('once', os.O_WRONLY), b'x')
        os._exit(0)
    reader = os.open('once', os.O_RDONLY | os.O_CREAT)
    assert os.read(reader, 1) == b'x' and os.wait()[1] == 0
    os.close(reader)
print('all')";
    let quarters = Quarters::new("once");
    for layers in LAYERS {
        let _ = fs::remove_file(quarters.work.join("once"));
        let seen =
            quarters.run(layers, "workspace-write", &["--timeout", "30s", "--", "python3", "-c", SCRIPT]);
        assert_eq!(seen.stdout, "all\n", "{layers}: {seen:?}");
    }
}

#[test]
fn the_terminal_of_a_program_is_its_own_also_when_it_is_opened_to_be_made() {
    let quarters = Quarters::new("tty");
    for layers in LAYERS {
        let script = "echo one > /dev/tty; setsid sh -c ': > /dev/tty' 2>&1 | grep -c address";
        let seen = quarters.run(layers, "workspace-write", &["--tty", "--", "sh", "-c", script]);
        assert_eq!(seen.stdout.replace('\r', ""), "one\n1\n", "{layers}: {seen:?}");
    }
}

#[test]
fn a_directory_with_a_workspace_in_it_cannot_be_moved_away() {
    let quarters = Quarters::new("around");
    let around = quarters.outside("around");
    let inner = format!("{around}/work");
    fs::create_dir_all(&inner).unwrap();
    let script =
        format!("mv '{around}' '{around}2' && mkdir '{around}2/work/.git'; mv '{around}2' '{around}'");
    let outside = quarters.outside.to_str().unwrap();
    for layers in LAYERS {
        let more = ["--writable", outside, "--writable", &inner, "--", "sh", "-c", &script];
        let seen = quarters.run(layers, "workspace-write", &more);
        assert!(
            seen.stderr.contains(&format!("the sandbox refused: rename {around} ")),
            "{layers}: {seen:?}"
        );
        assert!(!Path::new(&inner).join(".git").exists(), "{layers}");
    }
}

/// Names of temporary files contain the pid of their creator, and many commands share the directory for them.
#[test]
fn commands_in_worlds_of_their_own_have_numbers_of_their_own() {
    let quarters = Quarters::new("numbers");
    let number = || quarters.run("all", "workspace-write", &["--", "sh", "-c", "echo $$"]).stdout;
    let (first, second) = (number(), number());
    assert!(first.trim().parse::<u32>().is_ok(), "{first}");
    assert_ne!(first, second);
}

/// A command that could not be executed was the runtime's child for a moment, and once stayed behind as a zombie.
#[test]
fn starts_that_fail_leave_no_zombies() {
    for layers in LAYERS {
        let quarters = Quarters::new("zombies");
        let words =
            ["mcp", "--profile", "classic", "--sandbox", "workspace-write", "--sandbox-layers", layers];
        let mut command = quarters.home.windlass(&words);
        let mut served = Served::of(command.current_dir(&quarters.work));
        served.greet();
        let file = quarters.work.join("no-program");
        fs::write(&file, "neither a script nor a program").unwrap();
        for program in ["/no/such/program", file.to_str().unwrap()].into_iter().cycle().take(24) {
            let call = json!({ "name": "shell", "arguments": { "command": [program] } });
            let answer = served.ask("call", "tools/call", &call);
            assert_eq!(answer["result"]["isError"], true, "{layers}: {answer}");
        }
        // The last helper may be exiting just now; a zombie that stays would never be reaped.
        let deadline = Instant::now() + HANG;
        while let left @ [_, ..] = survivors::zombies_of(served.child.id()).as_slice() {
            assert!(Instant::now() < deadline, "{layers}: {left:?}");
            served.ask("again", "tools/call", &json!({ "name": "list_sessions", "arguments": {} }));
        }
    }
}
