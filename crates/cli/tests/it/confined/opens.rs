//! Opens of a confined command: the kernel carries them out by itself, unless a policy denies content. If a supervisor
//! carried them out, each would make the command wait, which the kernel counts.

use std::fs;

use super::{LAYERS, Quarters};

/// Opens a file many times, and prints how often its shell has waited for another process.
const OPENS: &str = "i=0; while [ $i -lt 500 ]; do : < /etc/passwd; i=$((i + 1)); done
while read -r name count; do case $name in voluntary_ctxt_switches:) echo $count;; esac; done < /proc/$$/status";
/// A shell always waits a few times.
const FEW: u32 = 100;

fn waits(quarters: &Quarters, layers: &str, more: &[&str]) -> u32 {
    let seen = quarters.run(layers, "workspace-write", &[more, &["--", "sh", "-c", OPENS]].concat());
    seen.stdout.trim().parse().unwrap_or_else(|_| panic!("{layers}: {seen:?}"))
}

#[test]
fn opens_are_left_to_the_kernel_where_sessions_are_kept_by_others() {
    let quarters = Quarters::new("opens");
    fs::create_dir(quarters.home.path().join("keepers")).unwrap();
    fs::write(quarters.work.join("denied"), "").unwrap();
    for layers in LAYERS {
        let asked = waits(&quarters, layers, &["--deny-read", "denied"]);
        assert!(asked > 500, "{layers}: the test would not see an open that is asked about: {asked}");
        let left = waits(&quarters, layers, &[]);
        assert!(left < FEW, "{layers}: {left}");
    }
}

/// The supervisor resolves paths in its own process, for which `/proc/self` is another directory than for the caller.
#[test]
fn a_command_finds_itself_in_the_table_of_processes_where_something_is_denied() {
    let quarters = Quarters::new("itself");
    fs::write(quarters.work.join("denied"), "").unwrap();
    let script = "ln -s /proc/self link; ln -s /proc link2;
for file in /proc/net/dev /proc/mounts /proc/self/net/dev link/net/dev link2/self/net/dev link2/net/dev link2/thread-self/mounts; do
    [ -n \"$(head -n 1 $file)\" ] || echo \"$file is empty\"; done
cd /proc; for file in net/dev mounts self/net/dev self/task/../mounts thread-self/net/dev ../proc/./self/mounts; do
    [ -n \"$(head -n 1 $file)\" ] || echo \"$file is empty\"; done
read -r name < self/comm; echo $name; read -r name < ../proc/self/comm; echo $name
echo caller > self/comm; read -r name < /proc/$$/comm; echo $name
read -r pid rest < self/stat; [ $pid = $$ ] && echo it is me";
    for layers in LAYERS {
        let words = ["--deny-read", "denied", "--", "sh", "-c", script];
        let seen = quarters.run(layers, "workspace-write", &words);
        let expected = if layers == "all" { "sh\nsh\ncaller\nit is me\n" } else { "sh\nsh\nsh\nit is me\n" };
        assert_eq!(seen.stdout, expected, "{layers}: {seen:?}");
        for link in ["link", "link2"] {
            fs::remove_file(quarters.work.join(link)).unwrap();
        }
    }
}
