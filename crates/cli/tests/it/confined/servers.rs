//! Directories and sockets at which programs of the user expect a server of the user, where the user's environment puts
//! them in a directory that commands can write.

use std::fs;

use super::{LAYERS, Quarters};
use crate::rig::Seen;

/// Each variable, the path in the workspace that it names, and the path of a server's socket there.
fn places() -> Vec<(&'static str, &'static str, String)> {
    let tmux = format!("t/tmux-{}/default", rustix::process::getuid().as_raw());
    vec![
        ("TMUX_TMPDIR", "t", tmux),
        ("SCREENDIR", "screens", "screens/1.pts".to_owned()),
        ("SSH_AUTH_SOCK", "ssh/agent", "ssh/agent".to_owned()),
        ("GNUPGHOME", "gnupg", "gnupg/S.gpg-agent".to_owned()),
        ("XDG_RUNTIME_DIR", "runtime", "runtime/bus".to_owned()),
        ("DBUS_SESSION_BUS_ADDRESS", "bus", "bus".to_owned()),
    ]
}

impl Quarters {
    /// Runs a script with the user's variables.
    fn run_for_user(&self, words: &[&str], script: &str) -> Seen {
        let mut command = self.home.windlass(&[words, &["--", "sh", "-c", script]].concat());
        for (variable, place, _) in places() {
            let path = self.work.join(place).display().to_string();
            let is_address = variable == "DBUS_SESSION_BUS_ADDRESS";
            command.env(variable, if is_address { format!("unix:path={path},guid=1") } else { path });
        }
        let output = command.output().expect("windlass starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Seen {
            code: output.status.code().expect("it ends by itself"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    fn made(&self) -> Vec<String> {
        let files = places().into_iter().map(|(.., file)| file);
        files.filter(|file| self.work.join(file).exists()).collect()
    }

    fn clear(&self) {
        fs::remove_dir_all(&self.work).unwrap();
        fs::create_dir(&self.work).unwrap();
    }
}

#[test]
fn no_server_is_started_where_the_users_programs_look_for_one() {
    let quarters = Quarters::new("servers");
    let work = quarters.work.display().to_string();
    let make: String =
        places().iter().map(|(.., file)| format!("mkdir -p $(dirname {file}); echo > {file}; ")).collect();
    // The directories exist; the command moves them away and creates them again.
    let replace: String = places()
        .iter()
        .map(|(.., file)| {
            format!("d=$(dirname {file}); [ $d = . ] || mv $d old; mkdir -p $d; rm -rf old; echo > {file}; ")
        })
        .collect();
    let prepared: Vec<String> = places().into_iter().map(|(.., file)| file).collect();
    for script in [make.as_str(), &replace] {
        let prepare = || {
            quarters.clear();
            if script == replace {
                for file in &prepared {
                    fs::create_dir_all(quarters.work.join(file).parent().unwrap()).unwrap();
                }
            }
        };
        prepare();
        quarters.run_for_user(&["run", "-C", &work], script);
        assert_eq!(quarters.made(), prepared, "unconfined");
        for layers in LAYERS {
            prepare();
            let words = quarters.words(layers, "workspace-write", &[]);
            let seen = quarters.run_for_user(&words, script);
            assert_eq!(quarters.made(), [] as [&str; 0], "{layers}: {seen:?}");
            assert!(seen.stderr.contains("server"), "{layers}: {}", seen.stderr);
        }
    }
}

#[test]
fn a_write_rule_that_names_such_a_place_is_the_exception_and_tmux_gets_another_directory() {
    let quarters = Quarters::new("servers-named");
    fs::create_dir(quarters.work.join("runtime")).unwrap();
    for layers in LAYERS {
        let words = quarters.words(layers, "workspace-write", &["--writable", "runtime"]);
        let seen =
            quarters.run_for_user(&words, "echo here > runtime/file; cat runtime/file; echo $TMUX_TMPDIR");
        assert_eq!(seen.stdout, "here\n/dev/shm\n", "{layers}: {seen:?}");
    }
}
