//! Reports of denied operations: the operation, its target, and the rule that denied it.

use std::fmt::Write;

use serde_json::{Value, json};

use super::confinement::{Confinement, Layers};
use super::stage::{Owner, Stage};
use super::workspaces::both;
use super::{Network, WORKSPACE};

/// A denied operation, and its expected report.
struct Tried {
    /// For `python3`; the script must catch its own errors.
    script: &'static str,
    operation: &'static str,
    /// Parts of the target and of the rule.
    target: &'static str,
    rule: &'static str,
}

const fn tried(
    script: &'static str,
    operation: &'static str,
    target: &'static str,
    rule: &'static str,
) -> Tried {
    Tried { script, operation, target, rule }
}

const IN_ALL_LAYERS: &[Tried] = &[
    tried("socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)", "socket", "unix socket", "SOCK_SEQPACKET"),
    tried("libc.socket(1, 3, 0)", "socket", "unix socket", "could reach programs outside"),
    tried("libc.socket(17, 3, 0)", "socket", "family 17", "a sandbox has"),
    tried("libc.socket(38, 5, 0)", "socket", "family 38", "a sandbox has"),
    tried("libc.socket(2, 3, 255)", "socket", "protocol 255", "a sandbox has"),
    tried("open(os.environ['OUTSIDE'] + '/made', 'w')", "create", "/outside/made", "not in a writable place"),
    tried("open(os.environ['SECRET'])", "read", "/secret", "deny"),
    tried("os.listdir(os.environ['SECRETDIR'])", "read", "/secrets", "deny"),
    tried("subprocess.run([os.environ['SECRETDIR'] + '/program'])", "execute", "/secrets/program", "deny"),
    tried(
        "os.symlink(os.environ['SECRETDIR'], 'led'); subprocess.run(['led/program'])",
        "execute",
        "program",
        "",
    ),
    tried("os.rename(os.environ['OUTSIDE'], 'taken')", "rename", "/outside", "not in a writable place"),
    tried("os.remove(os.environ['STAGE'] + '/attacks')", "remove", "/attacks", "not in a writable place"),
    tried("os.chmod(os.environ['OUTSIDE'], 0o700)", "change mode", "/outside", "not in a writable place"),
    tried("open('s', 'w'); os.chmod('s', 0o4755)", "call", "setuid", "outside of the sandbox"),
    tried("os.open('t', os.O_CREAT | os.O_WRONLY, 0o4755)", "call", "setuid", "outside of the sandbox"),
    tried("libc.mount(b'none', b'/mnt', b'tmpfs', 0, None)", "call", "mount", "nothing of the system"),
    tried("libc.umount2(b'/proc', 2)", "call", "umount2", "nothing of the system"),
    tried("libc.unshare(0x10000000)", "call", "new namespaces", "none inside"),
    tried("libc.syscall(KEYCTL, 0, -3, 0)", "call", "keyctl", "nothing of the system"),
    tried("libc.syscall(BPF, 0, 0, 0)", "call", "bpf", "nothing of the system"),
    tried("libc.sethostname(b'other', 5)", "call", "sethostname", "nothing of the system"),
    tried("fcntl.ioctl(0, 0x5412, b'x')", "call", "TIOCSTI", "nothing of the system"),
    tried("fcntl.fcntl(open('/etc/passwd'), 1024, 0)", "call", "lease", "would have to wait"),
    tried(
        "libc.prlimit(1, 7, struct.pack('QQ', 9, 9), None)",
        "call",
        "limits of another process",
        "its own",
    ),
    tried("socket.socket(socket.AF_UNIX).connect(os.environ['TMP_SOCKET'])", "connect", "", "outside"),
    tried("socket.socket(socket.AF_UNIX).connect(os.environ['UNIX_SOCKET'])", "connect", "/socket", ""),
    tried("open('.git/hooks/new', 'w')", "create", ".git/hooks/new", "protected"),
    tried("open('.bashrc', 'w')", "create", ".bashrc", ""),
];

/// The rule names the option to use instead.
const NETWORK_OFF: &[Tried] = &[
    tried("socket.create_connection(('127.0.0.1', 9))", "connect", "127.0.0.1:9", "off; --network loopback"),
    tried("socket.create_connection(('192.0.2.1', 9))", "connect", "192.0.2.1:9", "--network example.com"),
    tried(
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
        "send",
        "192.0.2.1:53",
        "hosts",
    ),
];
const NETWORK_LOOPBACK: &[Tried] =
    &[tried("socket.create_connection(('192.0.2.1', 9))", "connect", "192.0.2.1:9", "--network example.com")];
const NETWORK_OFF_WITHOUT_NAMESPACES: &[Tried] =
    &[tried("socket.create_connection(('127.0.0.1', 9))", "socket", "internet socket", "only --network on")];

/// Operations on numbers and names that all processes share without namespaces.
const WITHOUT_NAMESPACES: &[Tried] = &[
    tried("libc.shmget(7, 4096, 0o1600)", "call", "shmget", "shared with programs outside"),
    tried("libc.mq_open(b'/windlass-queue', os.O_CREAT, 0o600, None)", "call", "mq_open", "shared"),
];

/// The denials of all scripts, which are run one after the other by one command.
fn denials(stage: &Stage, confinement: Confinement, all: &[Tried]) -> Vec<Value> {
    let mut script = "import ctypes, fcntl, os, socket, struct, subprocess\n\
                      KEYCTL, BPF = (250, 321) if os.uname().machine == 'x86_64' else (219, 280)\n\
                      libc = ctypes.CDLL(None, use_errno=True)\n"
        .to_owned();
    for one in all {
        let _ = write!(
            script,
            "try:\n    {}\nexcept (OSError, ValueError) as error:\n    print(error)\n",
            one.script
        );
    }
    let mut words = confinement.words(stage);
    words.insert(2, "--json".to_owned());
    words.extend(["python3", "-c", &script].map(str::to_owned));
    let mut command = stage.command(&words);
    let output = command.current_dir(stage.path("work")).output().expect("windlass starts");
    let said: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!(said["exit_code"], 0, "{said:#}");
    said["denials"].as_array().cloned().unwrap_or_default()
}

fn check(name: &str, owner: Owner, confinement: Confinement, all: &[Tried]) {
    let stage = Stage::new(name, owner);
    let said = denials(&stage, confinement, all);
    let is_reported = |one: &&Tried| {
        said.iter().any(|denial| {
            let has =
                |field: &str, part: &str| denial[field].as_str().is_some_and(|text| text.contains(part));
            denial["operation"] == one.operation && has("target", one.target) && has("rule", one.rule)
        })
    };
    let silent: Vec<_> = all.iter().filter(|one| !is_reported(one)).map(|one| one.script).collect();
    assert!(silent.is_empty(), "{owner:?}, {confinement:?}: {silent:#?} in {said:#?}");
}

#[test]
fn denied_operations_are_reported() {
    check("denials", Owner::Myself, WORKSPACE, IN_ALL_LAYERS);
}

#[test]
fn denied_operations_of_an_ordinary_user_are_reported() {
    check("denials-user", Owner::ordinary(), WORKSPACE, IN_ALL_LAYERS);
}

#[test]
fn denied_operations_are_reported_without_namespaces() {
    let confinement = Confinement { layers: Layers::Landlock, ..WORKSPACE };
    check("denials-landlock", Owner::Myself, confinement, IN_ALL_LAYERS);
    check("denials-landlock-user", Owner::ordinary(), confinement, IN_ALL_LAYERS);
    check("denials-shared", Owner::Myself, confinement, WITHOUT_NAMESPACES);
    check("denials-shared-user", Owner::ordinary(), confinement, WITHOUT_NAMESPACES);
}

#[test]
fn denied_operations_are_reported_where_the_network_is_on() {
    check("denials-open", Owner::Myself, Confinement { network: Network::On, ..WORKSPACE }, IN_ALL_LAYERS);
}

#[test]
fn a_denied_address_is_reported_with_the_network_that_would_allow_it() {
    let with = |network| Confinement { network, ..WORKSPACE };
    check("denials-off", Owner::Myself, with(Network::Off), NETWORK_OFF);
    check("denials-loopback", Owner::ordinary(), with(Network::Loopback), NETWORK_LOOPBACK);
    let landlock = Confinement { layers: Layers::Landlock, ..WORKSPACE };
    check("denials-off-landlock", Owner::Myself, landlock, NETWORK_OFF_WITHOUT_NAMESPACES);
}

/// The same calls fail without a sandbox, and a rule that makes the workspace writable explains none of them.
#[test]
fn a_read_only_mount_of_the_users_is_not_reported_as_a_denial() {
    if !rustix::process::geteuid().is_root() {
        // Only root can mount something there in the first place.
        return;
    }
    let stage = Stage::new("mount-denials", Owner::Myself);
    for layers in ["all", "landlock"] {
        let script = format!(
            "mkdir -p mounted; mount -t tmpfs none mounted; cd mounted; echo kept > file; mkdir d; cd ..; \
             mount -o remount,ro mounted; \
             '{}' run --json --sandbox workspace-write --sandbox-layers {layers} -- sh -c 'cd mounted; \
             for try in \"touch new\" \"mkdir new\" \"rm file\" \"mv file ..\" \"mv d e\" \"chmod 0 file\" \
             \"ln file l\" \"tee file\" \"rmdir d\"; do $try < /dev/null 2> /dev/null && echo \"$try\"; done'",
            stage.windlass()
        );
        let mut command = stage.command(&["unshare", "--mount", "sh", "-c", &script].map(str::to_owned));
        let receipt = receipt(&command.output().expect("it starts").stdout);
        assert_eq!(
            (&receipt["denials"], &receipt["output"]),
            (&json!([]), &json!("")),
            "{layers}: {receipt}"
        );
    }
}

/// The kernel forbids this everywhere (`fs.protected_hardlinks`).
#[test]
fn a_hard_link_to_a_file_of_another_user_is_not_reported_as_a_denial() {
    let protected = std::fs::read_to_string("/proc/sys/fs/protected_hardlinks");
    if protected.is_ok_and(|text| text.trim() != "1") {
        return;
    }
    both("hard-links", |scene, layers| {
        // For root this is a denial, and so is a link to one's own file outside.
        let script = "if [ $(id -u) != 0 ]; then ! ln /etc/passwd x; fi 2> /dev/null; ! test -e x";
        let tried =
            |script| receipt(&scene.confined("", &["--json", "--sandbox-layers", layers], script).stdout);
        let receipt = tried(script);
        assert_eq!(
            (&receipt["denials"], &receipt["exit_code"]),
            (&json!([]), &json!(0)),
            "{layers}: {receipt}"
        );
        let receipt = tried("ln \"$SECRET\" x");
        assert_eq!(receipt["denials"][0]["operation"], "link", "{layers}: {receipt}");
    });
}

fn receipt(printed: &[u8]) -> Value {
    let text = String::from_utf8_lossy(printed);
    let last = text.lines().last().expect("there is a receipt");
    serde_json::from_str(last).expect("it is JSON")
}
