//! Traps in git's index: entries with paths that git never writes, but trusts when it reads them. A checkout of all
//! files then writes a hook, or a file outside of the work tree.

use super::Trap;

/// `made GIT_DIR` writes the file `i`, an index with a hook of the repository as one of its files.
macro_rules! made {
    ($rest:literal) => {
        concat!(
            r#"made() { printf '#!/bin/sh\n%s\n' "$EVIL" > hook; h=$(git --git-dir=$1 hash-object -w hook); python3 - $h <<'END'
import hashlib, struct, sys
path = b".git/hooks/post-checkout"
entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100755, 0, 0, 0) + bytes.fromhex(sys.argv[1]) + struct.pack(">H", len(path)) + path
entry += bytes(8 - len(entry) % 8)
index = b"DIRC" + struct.pack(">II", 2, 1) + entry
open("i", "wb").write(index + hashlib.sha1(index).digest())
END
}
put() { ln $1 l && cat i > l; cat i > $1; cp i $1; cp i j; mv j $1; cp i j; ln -f j $1; ln -sf $PWD/j $1; rm -f $1 j; cp i j; exec 9<> j; mv j $1; cat i >&9; exec 9>&-
rm -f $1; cp i $1; cp i j; mv j $1; }
"#,
            $rest
        )
    };
}

const fn index(name: &'static str, before: &'static str, command: &'static str, after: &'static str) -> Trap {
    Trap { name, before, rules: &[], command, after }
}

pub(super) const TRAPS: &[Trap] = &[
    index(
        "a hook in the index of the workspace",
        "git init -q; echo x > x; git add x; git commit -q -m x",
        made!("made .git; put .git/index"),
        "git checkout -- .; git checkout -q -b y",
    ),
    index(
        "a hook in the index of a repository below the workspace that was there before",
        "git init -q below; cd below; echo x > x; git add x; git commit -q -m x",
        made!("made below/.git; put below/.git/index"),
        "cd below; git checkout -- .; git checkout -q -b y",
    ),
    index(
        "a hook in the index of a repository that the command makes",
        "true",
        made!("git init -q r; (cd r; echo x > x; git add x; git commit -q -m x); made r/.git; put r/.git/index"),
        "cd r; git checkout -- .; git checkout -q -b y",
    ),
    index(
        "a hook in an index that is there before the repository",
        "true",
        made!(
            "git init -q r; (cd r; echo x > x; git add x; git commit -q -m x); made r/.git; mkdir -p s/.git; cp i s/.git/index; \
             cp -rn r/.git/. s/.git/"
        ),
        "cd s; git checkout -- .; git checkout -q -b y",
    ),
    index(
        "a file outside, in the index of a worktree that the command adds",
        "git init -q; echo x > x; git add x; git commit -q -m x",
        made!("git worktree add -q wt; made .git; sed -i 's,[.]git/hooks/post-checkout,../.git/hooks/commit-msg,' i; python3 - <<'END'
import hashlib
b = open('i', 'rb').read()[:-20]
open('i', 'wb').write(b + hashlib.sha1(b).digest())
END
put .git/worktrees/wt/index"),
        "cd wt; git checkout -- .; git commit --allow-empty -m y",
    ),
];
