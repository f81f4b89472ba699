//! Tables of git's subcommands. Everything that walks history or shows differences takes `--output`, because git reads
//! such options in one place for all of them; so their tables are complete, and made of shared parts.

use super::Coverage::{Complete, Marked};
use super::Style::Git;
use super::{Program, program};

/// Options of everything that shows differences.
macro_rules! differences {
    () => {
        "p,u,patch s U,unified: W,function-context raw patch-with-raw patch-with-stat numstat shortstat X,dirstat? cumulative \
         dirstat-by-file? check summary name-only name-status stat? stat-width: stat-name-width: stat-graph-width: \
         stat-count: compact-summary binary full-index color? ws-error-highlight: abbrev? src-prefix: dst-prefix: line-prefix: \
         no-prefix default-prefix inter-hunk-context: output-indicator-new: output-indicator-old: output-indicator-context: \
         B,break-rewrites? M,find-renames? D,irreversible-delete C,find-copies? find-copies-harder renames rename-empty \
         follow minimal w,ignore-all-space b,ignore-space-change ignore-space-at-eol ignore-cr-at-eol ignore-blank-lines \
         I,ignore-matching-lines: indent-heuristic patience histogram diff-algorithm: anchored: word-diff? word-diff-regex: \
         color-words? color-moved? color-moved-ws: relative? a,text exit-code quiet ext-diff textconv ignore-submodules? \
         submodule? ita-invisible-in-index ita-visible-in-index pickaxe-all pickaxe-regex rotate-to: skip-to: find-object: \
         diff-filter: output:=write z l: R S: G: O: c combined-all-paths diff-merges: dd remerge-diff m r t 0 1 2 3 4 5 6 7 \
         8 9 end-of-options help"
    };
}

/// Options of everything that walks history.
macro_rules! history {
    () => {
        " n,max-count: skip: since,after: until,before: since-as-filter: max-age: min-age: author: committer: grep-reflog: \
         grep: all-match invert-grep i,regexp-ignore-case basic-regexp E,extended-regexp F,fixed-strings P,perl-regexp \
         remove-empty merges min-parents: max-parents: first-parent exclude-first-parent-only not all branches? tags? \
         remotes? glob: exclude: exclude-hidden: reflog alternate-refs single-worktree ignore-missing bisect stdin \
         cherry-mark cherry-pick left-only right-only cherry g,walk-reflogs merge boundary simplify-by-decoration show-pulls \
         full-history dense sparse simplify-merges ancestry-path? date-order author-date-order topo-order reverse objects \
         in-commit-order objects-edge objects-edge-aggressive indexed-objects unpacked? filter: filter-provided-objects \
         filter-print-omitted exclude-promisor-objects missing: walk? do-walk pretty? format: abbrev-commit oneline encoding: \
         expand-tabs? notes? show-notes? standard-notes show-signature relative-date date: header commit-header parents \
         children timestamp left-right graph show-linear-break? count full-diff log-size L: source use-mailmap,mailmap \
         clear-decorations cc decorate-refs: decorate-refs-exclude: decorate? v show-all root always"
    };
}

/// Options of the subcommands that talk to another repository.
macro_rules! transport {
    () => {
        "v,verbose q,quiet progress f,force 4,ipv4 6,ipv6 dry-run atomic "
    };
}

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["git log", "git show", "git whatchanged", "git stash list", "git stash show"],
        (Git, Complete),
        concat!(differences!(), history!(), " include-untracked only-untracked"),
    ),
    program(
        &["git reflog"],
        (Git, Complete),
        concat!(
            differences!(),
            history!(),
            " expire: expire-unreachable: rewrite updateref stale-fix verbose dry-run"
        ),
    ),
    program(
        &["git rev-list"],
        (Git, Complete),
        concat!(
            differences!(),
            history!(),
            " disk-usage? use-bitmap-index progress: bisect-vars bisect-all object-names stdin-packs"
        ),
    ),
    program(
        &["git shortlog"],
        (Git, Complete),
        concat!(differences!(), history!(), " e,email numbered group:"),
    ),
    program(
        &["git diff", "git diff-tree", "git diff-index", "git diff-files", "git range-diff"],
        (Git, Complete),
        concat!(
            differences!(),
            " q cc cached,staged merge-base index base ours theirs root stdin commit-id always v pretty? format: oneline \
             encoding: notes? show-signature creation-factor: dual-color left-only right-only n: L: merge"
        ),
    ),
    program(
        &["git format-patch"],
        (Git, Complete),
        concat!(
            differences!(),
            " n,numbered N signoff stdout cover-letter numbered-files suffix: start-number: v,reroll-count: \
             filename-max-length: rfc? cover-from-description: description-file: subject-prefix: o,output-directory:=write \
             k,keep-subject zero-commit ignore-if-in-upstream add-header: to: cc: from? in-reply-to: attach? inline? thread? \
             signature: base: signature-file: progress interdiff: range-diff: creation-factor: force-in-body-from q i root all \
             always max-count: since,after: until,before: first-parent merges cherry-pick right-only left-only reverse \
             encoding: notes? not author: committer: grep:"
        ),
    ),
    program(
        &["git fast-export"],
        (Git, Complete),
        concat!(
            differences!(),
            history!(),
            " progress: signed-tags: tag-of-filtered-object: reencode: export-marks:=write import-marks: \
             import-marks-if-exists: fake-missing-tagger full-tree use-done-feature data refspec: anonymize anonymize-map: \
             reference-excluded-parents show-original-ids mark-tags"
        ),
    ),
    program(
        &["git bundle"],
        (Git, Complete),
        concat!(differences!(), history!(), " q progress all-progress all-progress-implied version:"),
    ),
    program(
        &["git blame", "git annotate"],
        (Git, Marked),
        "output:=write L: S: e,show-email w s l t p,porcelain n,show-number f,show-name c b M? C? contents: ignore-rev: \
         ignore-revs-file: since: date: abbrev? output-indicator-new:",
    ),
    program(
        &["git cherry-pick", "git revert"],
        (Git, Marked),
        "output:=write n,no-commit e,edit s,signoff m,mainline: X,strategy-option: S,gpg-sign? x strategy:=run cleanup: empty:",
    ),
    program(
        &["git repack"],
        (Git, Marked),
        "filter-to:=write filter: a A d f F q,quiet l,local n,window: window-memory: depth: threads: max-pack-size: keep-pack: \
         b,write-bitmap-index m,write-midx i,delta-islands unpack-unreachable: k,keep-unreachable g,geometric: cruft \
         cruft-expiration: max-cruft-size: expire-to:=write pack-kept-objects name-hash-version: path-walk",
    ),
    program(
        &["git bisect"],
        (Git, Marked),
        "output:=write term-old,term-good: term-new,term-bad: first-parent",
    ),
    program(
        &["git archive"],
        (Git, Complete),
        "exec:=run o,output:=write remote: format: prefix: add-file: add-virtual-file: worktree-attributes mtime: v,verbose \
         l,list 0 1 2 3 4 5 6 7 8 9 help",
    ),
    program(
        &["git bugreport", "git diagnose"],
        (Git, Complete),
        "o,output-directory:=write s,suffix: diagnose? mode: help",
    ),
    program(&["git mailsplit"], (Git, Complete), "o:=write b d: f: keep-cr mboxrd help"),
    program(
        &["git read-tree"],
        (Git, Marked),
        "index-output:=write prefix: exclude-per-directory: m i u n v q",
    ),
    program(
        &["git interpret-trailers"],
        (Git, Marked),
        "in-place=write trailer: where: if-exists: if-missing: only-trailers only-input unfold parse trim-empty",
    ),
    program(
        &["git apply"],
        (Git, Marked),
        "build-fake-ancestor:=write unsafe-paths=write exclude: include: p: C: whitespace: directory: stat check index cached \
         R,reverse 3,3way v,verbose q,quiet binary allow-empty allow-overlap allow-binary-replacement apply",
    ),
    program(
        &["git rebase"],
        (Git, Complete),
        "x,exec:=run i,interactive s,strategy:=run X,strategy-option: C: onto: keep-base verify q,quiet v,verbose n stat signoff \
         committer-date-is-author-date reset-author-date,ignore-date ignore-whitespace whitespace: f,force-rebase ff continue \
         skip abort quit edit-todo show-current-patch apply m,merge p,preserve-merges rerere-autoupdate empty: k,keep-empty \
         autosquash update-refs S,gpg-sign? autostash allow-empty-message r,rebase-merges? fork-point root \
         reschedule-failed-exec reapply-cherry-picks help",
    ),
    program(
        &["git difftool"],
        (Git, Complete),
        concat!(
            differences!(),
            " x,extcmd:=run cc tool: d,dir-diff g,gui y prompt symlinks tool-help trust-exit-code index cached,staged merge-base"
        ),
    ),
    program(
        &["git grep"],
        (Git, Complete),
        "O,open-files-in-pager?=run cached index untracked exclude-standard recurse-submodules v,invert-match i,ignore-case \
         w,word-regexp a,text I textconv r,recursive max-depth: E,extended-regexp G,basic-regexp F,fixed-strings \
         P,perl-regexp n,line-number column h H full-name l,files-with-matches,name-only L,files-without-match z,null \
         o,only-matching c,count color? break heading C,context: B,before-context: A,after-context: threads: p,show-function \
         W,function-context f: e: and or not q,quiet all-match ext-grep m,max-count: 0 1 2 3 4 5 6 7 8 9 help",
    ),
    program(
        &["git clone"],
        (Git, Complete),
        concat!(
            transport!(),
            "u,upload-pack:=run c,config:=text template:=ask o,origin: b,branch: j,jobs: depth: reference: \
             reference-if-able: dissociate separate-git-dir:=write filter: also-filter-submodules n checkout l,local s,shared \
             hardlinks reject-shallow bare,naked mirror recurse-submodules,recursive? shallow-since: shallow-exclude: \
             single-branch tags shallow-submodules ref-format: server-option: remote-submodules sparse bundle-uri: revision: \
             help"
        ),
    ),
    program(
        &["git init", "git init-db"],
        (Git, Complete),
        "template:=ask b,initial-branch: separate-git-dir:=write q,quiet bare shared? object-format: ref-format: help",
    ),
    program(
        &["git fetch", "git pull"],
        (Git, Complete),
        concat!(
            transport!(),
            "upload-pack:=run p,prune P,prune-tags a,append j,jobs: o,server-option: depth: deepen: unshallow refetch \
             shallow-since: shallow-exclude: update-shallow refmap: negotiation-tip: negotiate-only filter: all \
             set-upstream m,multiple t,tags n prefetch recurse-submodules? porcelain write-fetch-head k,keep \
             u,update-head-ok submodule-prefix: recurse-submodules-default: auto-maintenance auto-gc show-forced-updates \
             write-commit-graph stdin r,rebase? stat summary log? signoff squash commit edit e cleanup: ff ff-only verify \
             verify-signatures autostash s,strategy: X,strategy-option: S,gpg-sign? allow-unrelated-histories help"
        ),
    ),
    program(
        &["git fetch-pack", "git ls-remote"],
        (Git, Complete),
        "upload-pack,exec:=run o,server-option: q,quiet v t,tags h b,branches,heads refs get-url sort: exit-code symref all \
         stdin stateless-rpc k,keep thin include-tag depth: shallow-since: shallow-exclude: deepen-relative progress \
         check-self-contained-and-connected refetch filter: help",
    ),
    program(
        &["git push", "git send-pack"],
        (Git, Complete),
        concat!(
            transport!(),
            "receive-pack,exec:=run force-with-lease? force-if-includes d,delete n u,set-upstream o,push-option: repo: \
             follow-tags verify mirror all,branches tags prune porcelain recurse-submodules: thin signed? remote: \
             stateless-rpc stdin helper-status help"
        ),
    ),
    program(
        &["git send-email"],
        (Git, Marked),
        "sendmail-cmd,to-cmd,cc-cmd,header-cmd:=run smtp-server:=ask",
    ),
    program(
        &["git commit"],
        (Git, Marked),
        "a,all m,message: F,file: C,reuse-message: c,reedit-message: t,template: n,no-verify q,quiet v,verbose s,signoff \
         S,gpg-sign? e,edit p,patch i,include o,only u? amend no-edit fixup: squash: author: date: cleanup: allow-empty",
    ),
    program(&["git reset"], (Git, Marked), "hard soft mixed merge keep q,quiet p,patch N,intent-to-add"),
    program(&["git clean"], (Git, Marked), "f,force d n,dry-run x X q,quiet i,interactive e,exclude:"),
    program(
        &["git checkout", "git switch"],
        (Git, Marked),
        "f,force,discard-changes b: B: c,create: C,force-create: d,detach t,track? q,quiet m,merge p,patch orphan:",
    ),
];

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::programs::{Takes, read};
    use crate::word::Word;

    /// git lists the long options of a subcommand for the completion of shells. In a complete table none is missing.
    #[test]
    fn complete_tables_have_every_option_that_git_itself_lists() {
        let mut compared = 0;
        for program in PROGRAMS.iter().filter(|program| program.coverage == Complete) {
            for name in program.names {
                let output = Command::new("git")
                    .args(name.split(' ').skip(1))
                    .arg("--git-completion-helper-all")
                    .env_clear()
                    .env("PATH", std::env::var_os("PATH").unwrap_or_default())
                    .output()
                    .expect("git is installed");
                let listed = String::from_utf8_lossy(&output.stdout).into_owned();
                for option in
                    listed.split_ascii_whitespace().filter(|it| it.starts_with("--") && it.len() > 2)
                {
                    let words = [Word::literal(""), Word::literal(option), Word::literal("x")];
                    let found = read(program, &words, 1);
                    assert!(found.unknown.is_empty(), "{name}: {option}");
                    compared += 1;
                    let takes_value = option.ends_with('=');
                    let is_switch = found.options.iter().all(|it| it.entry.takes == Takes::Nothing);
                    assert!(!(takes_value && is_switch), "{name}: {option} takes a value");
                }
            }
        }
        assert!(compared > 300, "git listed only {compared} options");
    }
}
