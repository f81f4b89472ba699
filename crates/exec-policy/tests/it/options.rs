//! Options in every spelling: bundled, shortened, attached, behind operands. A program that can run others by an option
//! does not do so silently, and a rule that names an option is met by every way to write it.

use windlass_exec_policy::Verdict::{Allow, Ask, Forbid};
use windlass_exec_policy::{Rules, RulesFile, ShellKind, Verdict};

fn rules(text: &str) -> Rules {
    Rules::of(RulesFile::parse(text, "rules.toml").unwrap_or_else(|faults| panic!("{faults:?}")))
}

#[track_caller]
fn check(text: &str, cases: &[(&str, Verdict)]) {
    let rules = rules(text);
    for (script, expected) in cases {
        let judgement = rules.judge_script(script, ShellKind::Bash);
        assert_eq!(judgement.verdict, *expected, "{script}: {:#?}", judgement.parts);
    }
}

/// Options by which ordinary programs run a command, read code or load it.
const RUNNING: &[&str] = &[
    "tar -xf x --checkpoint=1 --checkpoint-act=exec='git push'",
    "tar --checkpoint-action exec='git push' -xf x",
    "tar -xf x --use-compress-prog='git push'",
    "tar -xf x --use='git push'",
    "tar cIf 'git push' x.tgz a",
    "tar -cI 'git push' -f x a",
    "tar -I'git push' -cf x a",
    "tar xf x --to-com='git push'",
    "tar --rsh='git push' -xf host:x",
    "tar --rmt-c='git push' -xf host:x",
    "tar -cMF 'git push' a",
    "tar -xf x --surprise",
    "split --filt='git push' f",
    "split -l1 --filter 'git push' f",
    "make --ev='$(shell git push)'",
    "make -E'$(shell git push)'",
    "make -kE '$(shell git push)'",
    "make -f - <<< 'x:;git push'",
    "make -f- <<< 'x:;git push'",
    "make -sf - <<< 'x:;git push'",
    "make --file=/dev/stdin <<< 'x:;git push'",
    "make --makefile /dev/fd/3",
    "make -f <(echo 'x:;git push')",
    "make SHELL=./evil",
    "make 'CC=git push' x",
    "rsync -ae 'git push' a b",
    "rsync -avze'git push' a b",
    "rsync --rsh='git push' a b",
    "rsync --rsync-path='git push' a b:",
    "sort --compress-prog='git push' f",
    "sort --comp 'git push' f",
    "install --strip-prog=./evil -s a b",
    "sed --expression='1e git push' f",
    "sed --exp='1e git push' f",
    "sed -ne '1e git push' f",
    "sed -n -e1egit f",
    "sed 1egit f",
    "sed '/x/{s/a/git push/\ne\n}' f",
    "sed 's,a,git push,ge' f",
    "sed -f /dev/stdin f <<< '1e git push'",
    "sed -nf - <<< '1e git push'",
    "sed --file=<(echo '1e git push') f",
    "sed \"$x\" f",
    "awk -f /dev/stdin <<< 'BEGIN { system(\"git push\") }'",
    "awk -F: --source 'BEGIN { system(\"git push\") }'",
    "gawk -e 'BEGIN { system(\"git push\") }'",
    "gawk -l ./evil 'BEGIN {}'",
    "awk '{ print | \"git push\" }' f",
    "awk 'BEGIN { x++ / 2; print 1 | \"git push\"; y = 1 / 2 }'",
    "sqlite3 x.db '.shell git push'",
    "sqlite3 x.db '.system git push'",
    "sqlite3 -cmd '.shell git push' x.db",
    "sqlite3 x.db <<< '.shell git push'",
    "sqlite3 x.db \"select load_extension('evil')\"",
    "echo '.shell git push' | sqlite3 x.db",
    "psql -c '\\! git push'",
    "psql -c \"copy x to program 'git push'\"",
    "mysql -e 'system git push'",
    "gcc -wrapper git,push x.c",
    "gcc -specs=./evil x.c",
    "gcc -fplugin=./evil.so x.c",
    "gcc -B./evil x.c",
    "gcc -B ./evil x.c",
    "gcc @options x.c",
    "clang -Xclang -load -Xclang ./evil.so x.c",
    "cc -Wl,-plugin,./evil.so x.c",
    "python3 -m timeit 'import os; os.system(\"git push\")'",
    "python3 -mtimeit 'import os'",
    "python3 -Im timeit 'import os'",
    "python3 -m pdb -c '!git push' x.py",
    "python3 -m code",
    "python3 -m \"$module\"",
    "git rebase --exe='git push' HEAD~3",
    "git rebase -ix 'git push' HEAD~3",
    "git rebase -s x/run HEAD~3",
    "git rebase --strat=x/run HEAD~3",
    "git cherry-pick --strategy=x/run f",
    "git cherry-pick --strategy x/run f",
    "git revert --strategy=x/run f",
    "git ls-remote --upload-pa=./evil x",
    "git clone -qu ./evil x",
    "git clone --conf=core.pager=./evil x",
    "git grep -nO./evil x",
    "git grep --open-files='git push' x",
    "git difftool --extc='git push'",
    "git fetch --upload-pack ./evil",
    "git push --receive-p=./evil",
    "git archive --remote=x --exec=./evil HEAD",
    "scp -S ./evil a b:",
    "scp -rS ./evil a b:",
    "scp -o ProxyCommand='git push' a b:",
    "sftp -oProxyCommand='git push' host",
    "ssh -F /dev/stdin host true",
    "ssh -I ./evil.so host true",
    "less '+!git push' f",
    "man -P 'git push' ls",
    "man --pag='git push' ls",
    "zip -rTT 'git push' x.zip a",
    "zip x.zip a -T --unzip-command 'git push'",
    "wget --use-askpass=./evil x",
    "wget -e use_askpass=./evil x",
    "curl -K - x",
    "curl -sK/dev/stdin x",
    "vim -s /dev/stdin f",
    "ed f <<< '!git push'",
    "nc -le /bin/sh 80",
    "tcpdump -i any -G 1 -w x -z ./evil",
    "go test -exec ./evil ./...",
    "go build --toolexec=./evil",
    "go vet -vettool=./evil",
    "cargo build --config 'build.rustc-wrapper=\"./evil\"'",
    "npm exec --call 'git push'",
    "npx -c 'git push'",
    "rg --pre ./evil x",
    "fzf --preview 'git push {}'",
    "svn diff --diff-cmd ./evil",
    "pdflatex -shell-escape x.tex",
    "openssl req -engine ./evil",
    "apt-get -o APT::Update::Pre-Invoke::='git push' update",
    "dc -e '!git push'",
    "cmake -E env git push",
    "gdb -batch -ex 'shell git push'",
    "patch -e < f",
    "strace -o '|git push' ls",
    "strace -fo'|git push' ls",
    "strace --outp='!git push' ls",
    "setarch x86_64 git push",
    "setarch linux32 -R git push",
    "ssh-agent git push",
    "ssh-agent -t 60 git push",
    "fakeroot --faked ./evil ls",
    "fakeroot -l ./evil.so ls",
    "ssh -o $'ProxyCommand\tgit push' host true",
    "ssh -o '\"ProxyCommand\" git push' host true",
    "scp -o $'\tproxycommand\tgit push' a b:",
    "echo ':!git push' | vim",
    "vim < script",
    "f() { vim x; }; echo ':!git push' | f",
    "{ vim x; } < script",
    "exec < script; vim x",
    "echo ':!git push' | timeout 5 vim x",
    "echo '!git push' | ed",
    "ed",
    "ex",
    "echo 'shell git push' | gdb",
    "echo '!git push' | dc",
    "dc <<< '!git push'",
    "echo '!git push' | sftp host",
    "echo '.shell git push' | sqlite3",
    "sqlite3 x.db \"select edit/**/('x', 'git push')\"",
    "sqlite3 x.db '.once |git push' 'select 1'",
    "sqlite3 x.db '.import \"|git push\" t'",
    "echo '\\! git push' | psql",
    "psql -v PROMPT1='%`git push`'",
    "mysql -e 'pager git push'",
    "mysql --plugin_dir=./evil",
    "php --run 'system(\"git push\");'",
    "php --process-code 'system(\"git push\");'",
    "node --experimental-loader ./evil.mjs x.js",
    "python3 -m cProfile -m timeit 'import os'",
    "python3 -m asyncio",
    "java -XX:OnOutOfMemoryError='git push' -jar x.jar",
    "java -agentpath:./evil.so -jar x.jar",
    "pandoc --filter ./evil x.md",
    "pandoc -t ./evil.lua x.md",
    "groff -U x",
    "ninja -t browse --surprise",
    "cmake -D CMAKE_C_COMPILER=./evil .",
    "go build -ldflags '-extld ./evil' .",
    "docker -H ssh://evil ps",
    "nmap --script ./evil host",
    "cpio -i --rsh-command='git push' -F host:x",
    "zip -T -rTT 'git push' x.zip a",
    "awk 'BEGIN { system(\"git push\") }' -f x",
    "fd -x'git' push",
    "fd --exec=git push",
    "less '-Pa$k./evil' f",
    "lftp -c '!git push'",
    "POSIXLY_CORRECT=1 sed '1e git push' x -e p",
];

#[test]
fn no_option_runs_a_command_silently() {
    let rules = rules("[[rule]]\ncommand = [\"git\", \"push\"]\nverdict = \"forbid\"");
    let silent: Vec<&str> = RUNNING
        .iter()
        .copied()
        .filter(|script| rules.judge_script(script, ShellKind::Bash).verdict == Allow)
        .collect();
    assert!(silent.is_empty(), "{} are allowed: {silent:#?}", silent.len());
}

#[test]
fn a_rule_that_allows_a_program_does_not_allow_what_its_options_run_or_write() {
    let text = "default = \"ask\"\n".to_owned()
        + &["tar", "sort", "sed", "find", "curl", "awk", "rsync", "make", "split", "gcc"]
            .map(|name| format!("[[rule]]\ncommand = [\"{name}\"]\nverdict = \"allow\"\n"))
            .concat()
        + "[[rule]]\ncommand = [\"git\", [\"log\", \"diff\"]]\nverdict = \"allow\"\n"
        + "[[rule]]\ncommand = [\"wget\", \"-O\"]\nverdict = \"allow\"\n";
    check(
        &text,
        &[
            ("tar xzf a.tgz", Allow),
            ("tar xf a.tgz \"$member\"", Ask),
            ("tar cf a.tar *", Ask),
            ("tar cf a.tar -- *", Allow),
            ("tar cf a.tar ./*", Allow),
            ("tar xf \"$file\"", Allow),
            ("tar xf x --to-command=cat", Ask),
            ("sort -u f", Allow),
            ("sort -uo f f", Ask),
            ("sort --out=f f", Ask),
            ("sed -n 5p f", Allow),
            ("sed -n '1e date' f", Ask),
            ("sed -ni 5p f", Ask),
            ("sed --in-pl=.bak 5p f", Ask),
            ("sed -n '5w f' g", Ask),
            ("find . -name x", Allow),
            ("find . -delete", Ask),
            ("find . -fprint f", Ask),
            ("curl https://example.com", Allow),
            ("curl -so f https://example.com", Ask),
            ("curl --output=f https://example.com", Ask),
            ("awk '{ print $1 }' f", Allow),
            ("awk '{ print > \"f\" }' g", Ask),
            ("git log --oneline", Allow),
            ("git log --output=f", Ask),
            ("git diff --outp f", Ask),
            ("wget -O f https://example.com", Allow),
            ("find . \"$x\"", Ask),
            ("find . -name \"$x\"", Allow),
            ("make 'CC=sh -c id'", Ask),
            ("make CFLAGS='-O2 -g'", Allow),
            ("awk -i inplace '{ print }' f", Ask),
            ("sed -n \"${n}p\" f", Ask),
        ],
    );
}

#[test]
fn a_rule_that_names_an_option_is_met_by_every_spelling_of_it() {
    let text = "[[rule]]\ncommand = [\"rm\", [\"-rf\", \"-fr\", \"-r\", \"-R\"]]\nverdict = \"forbid\"\n\
                [[rule]]\ncommand = [\"git\", \"push\", [\"-f\", \"--force\"]]\nverdict = \"forbid\"\n\
                [[rule]]\ncommand = [\"chmod\", \"--recursive\", \"777\"]\nverdict = \"forbid\"\n\
                [[rule]]\ncommand = [\"prog\", \"-x\"]\nverdict = \"forbid\"\n\
                [[rule]]\ncommand = [\"prog\", \"--delete\"]\nverdict = \"forbid\"\n\
                [[rule]]\ncommand = [\"git\", \"reset\", \"--hard\"]\nverdict = \"forbid\"\n\
                [[rule]]\ncommand = [\"git\", \"clean\", \"-fd\"]\nverdict = \"forbid\"\n";
    check(
        text,
        &[
            ("rm -rf x", Forbid),
            ("rm -Rf x", Forbid),
            ("rm --recursive x", Forbid),
            ("rm --rec x", Forbid),
            ("rm x -rf", Forbid),
            ("rm -v x y -fr", Forbid),
            ("rm -f -v -R x", Forbid),
            ("rm -vfr x", Forbid),
            ("rm --force --recursive x", Forbid),
            ("command rm -f x --recursiv", Forbid),
            ("rm -f x", Allow),
            ("rm x y", Allow),
            ("rm --interactive=never x", Allow),
            ("git push --force", Forbid),
            ("git push -uf origin main", Forbid),
            ("git push origin main -f", Forbid),
            ("git push origin --forc", Forbid),
            ("git push origin main", Allow),
            ("git push --follow-tags origin", Allow),
            ("git commit -m 'push -f'", Allow),
            ("chmod -R 777 x", Forbid),
            ("chmod 777 -R x", Forbid),
            ("chmod -vR 777 x", Forbid),
            ("chmod 777 x", Allow),
            ("prog a -x", Forbid),
            ("prog -vx a", Forbid),
            ("prog a --del", Forbid),
            ("prog --delete=y", Forbid),
            ("prog a x", Allow),
            ("git reset HEAD~1 --hard", Forbid),
            ("git -C x reset --har", Forbid),
            ("git reset --soft HEAD~1", Allow),
            ("git clean -d -f", Forbid),
            ("git clean -xdf", Forbid),
            ("git clean -n", Allow),
        ],
    );
}

#[test]
fn an_option_behind_many_operands_is_found() {
    let text = "[[rule]]\ncommand = [\"rm\", \"-r\"]\nverdict = \"forbid\"\n";
    let many = "file ".repeat(1000);
    check(text, &[(&format!("rm {many} -rf"), Forbid), (&format!("rm {} x", "file ".repeat(100)), Allow)]);
    let binds = "--ro-bind /a /a ";
    check(text, &[(&format!("bwrap {} rm -r x", binds.repeat(15)), Forbid)]);
    check(text, &[(&format!("bwrap {} rm -r x", binds.repeat(50)), Ask)]);
}

#[test]
fn a_rule_that_allows_an_option_is_met_by_that_spelling_only() {
    let text = "default = \"ask\"\n[[rule]]\ncommand = [\"rm\", \"-f\"]\nverdict = \"allow\"\n";
    check(text, &[("rm -f x", Allow), ("rm -rf x", Ask), ("rm --force x", Ask), ("rm x -f", Ask)]);
}

#[test]
fn what_a_carrier_writes_needs_a_rule() {
    let text = "default = \"ask\"\n[[rule]]\ncommand = [\"ls\"]\nverdict = \"allow\"\n";
    check(
        text,
        &[
            ("/usr/bin/time ls", Allow),
            ("/usr/bin/time -o f ls", Ask),
            ("/usr/bin/time --out=f ls", Ask),
            ("strace -o f ls", Ask),
            ("strace ls", Allow),
        ],
    );
}
