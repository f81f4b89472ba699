//! Programs that run others behind options that are in no table: every argument that may be a command is compared with
//! the rules, and a rule that allows such a program by its name alone does not cover it.

use super::{Carried, Given, Look, Strength, head};
use crate::script::ShellKind;
use crate::word::Word;

/// The names of these programs.
const VAGUE: &str = " alacritty ansible apply arch arch-chroot argv0 asciinema bear box64 bpftrace bsub bwrap capsh ccache cgexec chpst \
    chruby-exec clush concurrently coresched cpulimit cpuset cronic cross-env cross-env-shell daemon daemonize dbclient \
    dbus-launch dchroot distcc distrobox-enter dotenv dropbear-ssh dsh dtrace dtruss dzdo entr env-cmd envconsul envdir \
    envuidgid fab fakechroot faketime fghack firejail flatpak-spawn foot gamemoderun gdb gdbserver gksu gksudo \
    gnome-terminal gosu gpg-agent heaptrack hugectl hyperfine ifne intercept-build ip isolate jexec kcov kdesu kdesudo \
    keep-one-running kitty konsole ktrace landrun lckdo leaks libtool lldb lockf lxc-attach lxc-execute mangohud minijail0 \
    mispipe mosh mpiexec mpirun multilog nodemon npm-run-all nq nsjail numactl optirun parallel-ssh pdsh pee perf pgrphack \
    primusrun proot proxychains proxychains4 pssh qsub retry rlwrap rr rsh run-one run-one-constantly run-one-until-failure \
    run-one-until-success run-p run-parts run-s run-this-one run0 runcon salloc samply sandbox-exec sbatch scan-build \
    sccache schedtool schroot setlock setuidgid softlimit srun st start-stop-daemon startx su-exec switch_root sysprof-cli \
    systemd-cat systemd-inhibit systemd-nspawn systemd-run systemd-socket-activate task-spooler tcpserver tcpsvd terminator \
    termrec timelimit tini torify torsocks trace-cmd truss ts tsocks tsp ttyd ttyrec uclampset udpsvd uftrace unshare-run \
    urxvt uxterm valgrind vzctl watchexec watchman-make watchmedo websocketd wine with-lock-ex wsl xcrun xfce4-terminal \
    xterm xvfb-run rpmbuild rpmspec ansible-console ansible-galaxy ansible-inventory ansible-playbook \
    ansible-pull ansible-vault blender c8 cargo-watch debugfs dhclient duckdb flamegraph ftp gimp guestfish gum hwatch \
    jupyter latexmk libreoffice lynx mlr mpv msgexec msgfilter mysqlsh nim nyc openvpn osqueryi pppd rdmd reflex soffice \
    spark-shell spark-submit sqlcipher ssh-copy-id sshfs tnftp usql uwsgi viddy virt-customize w3m xdotool zx ";

/// Name endings of QEMU programs that do not emulate a single program.
const OTHERS_OF_QEMU: [&str; 7] = ["img", "nbd", "io", "ga", "system", "storage", "pr"];

/// The most words of such a program that are examined. With more, the user is asked.
const VAGUE_WORDS: usize = 64;

pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    let has_option = |options: &[&str]| {
        let is_one = |word: &Word| options.iter().any(|option| word.beginning().starts_with(option));
        given.words.iter().skip(1).any(is_one)
    };
    match name {
        "cmake" if given.words.iter().any(|word| word.is("-E")) => vague(name, given.words, look),
        // Recipes are code of the project; these options bring other commands.
        "just" if has_option(&["-c", "--command", "--shell", "--chooser"]) => runs(name, given, look),
        // `ip` runs commands in other networks only, or those of a file.
        "ip" if !given.words.iter().any(|word| word.is("exec") || may_be_batch(word)) => {
            vague(name, given.words, look);
        }
        _ if is_vague(name) => runs(name, given, look),
        _ => {}
    }
}

/// Judges every word behind the name that may be a command.
pub(super) fn vague(name: &str, words: &[Word], look: &mut Look) {
    look.carrier = Some(name.to_owned());
    for place in 1..words.len().min(VAGUE_WORDS) {
        let word = &words[place];
        match word.text() {
            Some(text) if text.starts_with('-') => attached(word, &words[place + 1..], look),
            Some("") | None => {}
            Some(text) => {
                look.carried.push(Carried::Perhaps(head(&words[place..])));
                // Some of them take a whole script as one argument, some behind a mark.
                if text.contains(' ') {
                    let script = Word::literal(text.trim_start_matches(['!', '|']));
                    look.carried.push(Carried::Script(script, ShellKind::Posix));
                }
            }
        }
    }
    if words.get(1).is_some_and(|word| word.text().is_none()) {
        look.ask("what it runs is known only when it runs");
    }
    if words.len() > VAGUE_WORDS {
        look.ask("it has too many words to find the command that it runs");
    }
}

fn is_vague(name: &str) -> bool {
    let emulates = |rest: &str| !OTHERS_OF_QEMU.iter().any(|other| rest.starts_with(other));
    VAGUE.contains(&format!(" {name} "))
        || name.strip_prefix("qemu-").is_some_and(emulates)
        || name.starts_with("s6-")
        || name.starts_with("qemu-system-")
}

fn runs(name: &str, given: &Given<'_>, look: &mut Look) {
    vague(name, given.words, look);
    let may_carry = |word: &Word| !word.beginning().starts_with('-') || word.setting().is_some();
    if given.words.iter().skip(1).any(may_carry) {
        look.ask_at_least(Strength::UnlessWords(2), "it may run another program");
    }
}

/// The value of an option: a program, whose arguments may follow, or a script.
fn attached(option: &Word, following: &[Word], look: &mut Look) {
    let Some(value) = option.text().and_then(|text| text.split_once('=')).map(|(_, value)| value) else {
        return;
    };
    let mut words = vec![Word::literal(value)];
    words.extend(head(following).into_iter().skip_while(|word| word.is("--")));
    look.carried.push(Carried::Perhaps(words));
    if value.contains(' ') {
        look.carried.push(Carried::Perhaps(script_words(&Word::literal(value))));
    }
}

/// `sh -c` around a text, as programs do that take a script in one word.
pub(super) fn script_words(script: &Word) -> Vec<Word> {
    vec![Word::literal("sh"), Word::literal("-c"), script.clone()]
}

fn may_be_batch(word: &Word) -> bool {
    word.text().is_none_or(|text| text.starts_with("-b") || text.starts_with("--b"))
}
