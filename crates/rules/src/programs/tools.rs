//! Tables of other tools: networks, databases, packages, version control.

use super::Coverage::{Complete, Partial};
use super::Style::{Dash, Exact, Gnu};
use super::{Coverage, Program, Style};

const fn program(
    names: &'static [&'static str],
    (style, coverage): (Style, Coverage),
    options: &'static str,
) -> Program {
    Program { names, style, coverage, options }
}

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["curl"],
        (Gnu, Partial),
        "o,output:=write O,remote-name=write remote-name-all=write K,config:=file c,cookie-jar:=write \
         D,dump-header:=write trace:=write trace-ascii:=write stderr:=write libcurl:=write etag-save:=write \
         engine:=ask output-dir: A,user-agent: b,cookie: C: d,data: e,referer: E,cert: F,form: H,header: m,max-time: P: Q: \
         r: t: T,upload-file: u,user: U: w,write-out: x,proxy: X,request: y: Y: z: url: f,fail s,silent S,show-error \
         L,location k,insecure",
    ),
    program(
        &["wget"],
        (Gnu, Partial),
        "O,output-document:=write o,output-file:=write a,append-output:=write e,execute:=text use-askpass:=run \
         config:=file P: i: B: t: T: w: Q: U: D: A: R: I: X: l: header: post-data: post-file: user: password:",
    ),
    program(
        &["scp"],
        (Exact, Complete),
        "3 4 6 A B C O p q R r s T v D:=run F:=file i: J: l: P: c: o:=text S:=run X:",
    ),
    program(
        &["sftp"],
        (Exact, Complete),
        "1 2 4 6 A a B: b:=file C c: D:=run F:=file f i: J: l: N o:=text P: p q R: r S:=run s:=run v X:",
    ),
    program(
        &["nc", "ncat", "netcat"],
        (Exact, Partial),
        "e,exec:=run c,sh-exec:=run lua-exec:=run p: w: s: q: i: o:=write",
    ),
    program(
        &["tcpdump"],
        (Exact, Partial),
        "z:=run w:=write r: i: c: C: G: s: W: F: Z: B: E: j: m: M: T: y:",
    ),
    program(&["nmap"], (Exact, Partial), "script:=ask p: iL: oN:=write oX:=write oG:=write oA:=write"),
    program(
        &["openssl"],
        (Dash, Partial),
        "engine:=ask provider-path:=ask pre:=ask post:=ask config:=file out:=write keyout:=write in: key: cert: subj:",
    ),
    program(
        &["sqlite3"],
        (Dash, Partial),
        "cmd:=text init:=file separator: nullvalue: newline: maxsize: mmap: vfs: nonce: lookaside: pagecache: heap:",
    ),
    program(
        &["psql"],
        (Gnu, Partial),
        "c,command:=text f,file:=file o,output:=write L,log-file:=write d,dbname: h,host: p,port: U,username: P,pset: \
         F,field-separator: R,record-separator: T,table-attr: v,set,variable:",
    ),
    program(
        &["mysql", "mariadb"],
        (Gnu, Partial),
        "e,execute:=text init-command:=text tee:=write pager?=run plugin-dir:=ask u,user: h,host: P,port: D,database: \
         S,socket: p,password?",
    ),
    program(
        &["npm", "npx", "pnpm"],
        (Exact, Partial),
        "c,call:=run script-shell:=run node-options:=ask p,package: w,workspace:",
    ),
    program(
        &["cargo"],
        (Exact, Partial),
        "config:=ask p,package: F,features: j,jobs: target: Z: manifest-path:",
    ),
    program(
        &["go"],
        (Dash, Partial),
        "exec:=run toolexec:=run vettool:=run overlay:=ask run: tags: ldflags: gcflags: o: C: count: timeout: mod:",
    ),
    program(&["nix-shell"], (Exact, Partial), "run:=run command:=run p,packages:"),
    program(&["nix"], (Exact, Partial), "c,command:=run"),
    program(
        &["rake"],
        (Exact, Partial),
        "e,execute:=code E,execute-continue:=code p,execute-print:=code f,rakefile:=file r,require:=ask",
    ),
    program(&["mutt", "neomutt"], (Exact, Partial), "e:=ask F:=file s: a: c: b: i: f:"),
    program(
        &["rg", "ripgrep"],
        (Exact, Partial),
        "pre:=run hostname-bin:=run pre-glob: g,glob: e,regexp: f,file: t,type: T: A: B: C: m: M: r,replace: j: E: d:",
    ),
    program(&["fzf"], (Exact, Partial), "preview:=run bind:=ask q,query: f,filter: d: n: e"),
    program(&["bat"], (Exact, Partial), "pager:=run l,language: p,plain"),
    program(
        &["svn"],
        (Exact, Partial),
        "diff-cmd:=run diff3-cmd:=run merge-cmd:=run editor-cmd:=run config-option:=ask config-dir:=ask m: F: r:",
    ),
    program(&["hg"], (Gnu, Partial), "config:=ask R: cwd: m,message: r,rev:"),
    program(
        &["latex", "pdflatex", "xelatex", "lualatex", "tex", "pdftex"],
        (Dash, Partial),
        "shell-escape=ask enable-write18=ask",
    ),
    program(
        &["apt", "apt-get", "apt-cache"],
        (Exact, Partial),
        "o,option:=text c,config-file:=file t,target-release: q? y",
    ),
    program(&["dpkg"], (Exact, Partial), "pre-invoke:=run post-invoke:=run status-logger:=run"),
    program(&["rpm"], (Exact, Partial), "E,eval:=code pipe:=run"),
    program(
        &["git rebase"],
        (Gnu, Partial),
        "x,exec:=run i,interactive s,strategy: X,strategy-option: C: onto:",
    ),
    program(&["git difftool"], (Gnu, Partial), "x,extcmd:=run t,tool: d,dir-diff"),
    program(&["git grep"], (Gnu, Partial), "O,open-files-in-pager?=run e: f: A: B: C: m: n i l"),
    program(
        &["git clone"],
        (Gnu, Partial),
        "u,upload-pack:=run c,config:=text template:=ask o,origin: b,branch: j,jobs: depth: reference: separate-git-dir: \
         filter: q,quiet v,verbose n,no-checkout l,local s,shared",
    ),
    program(&["git init"], (Gnu, Partial), "template:=ask b,initial-branch: separate-git-dir: q,quiet bare"),
    program(
        &["git fetch", "git pull"],
        (Gnu, Partial),
        "upload-pack:=run f,force p,prune a,append j,jobs: o: depth: r,rebase? s: X:",
    ),
    program(&["git fetch-pack", "git ls-remote"], (Gnu, Partial), "upload-pack,exec:=run o,server-option:"),
    program(
        &["git push", "git send-pack"],
        (Gnu, Partial),
        "receive-pack,exec:=run f,force force-with-lease? force-if-includes d,delete n,dry-run u,set-upstream \
         o,push-option: repo: q,quiet v,verbose follow-tags no-verify mirror all tags prune",
    ),
    program(
        &["git archive"],
        (Gnu, Partial),
        "exec:=run o,output:=write remote: format: prefix: v,verbose l,list",
    ),
    program(
        &["git send-email"],
        (Gnu, Partial),
        "sendmail-cmd,to-cmd,cc-cmd,header-cmd:=run smtp-server:=ask",
    ),
    program(
        &[
            "git log",
            "git diff",
            "git show",
            "git diff-tree",
            "git diff-index",
            "git diff-files",
            "git whatchanged",
            "git shortlog",
        ],
        (Gnu, Partial),
        "output:=write output-indicator-new: output-indicator-old: output-indicator-context: n: S: G: L: O: U:",
    ),
    program(
        &["git format-patch"],
        (Gnu, Partial),
        "o,output-directory:=write output:=write n,numbered N v: k s,signoff",
    ),
    program(
        &["git commit"],
        (Gnu, Partial),
        "a,all m,message: F,file: C,reuse-message: c,reedit-message: t,template: n,no-verify q,quiet v,verbose s,signoff \
         S,gpg-sign? e,edit p,patch i,include o,only u? amend no-edit fixup: squash: author: date: cleanup: allow-empty",
    ),
    program(&["git reset"], (Gnu, Partial), "hard soft mixed merge keep q,quiet p,patch N,intent-to-add"),
    program(&["git clean"], (Gnu, Partial), "f,force d n,dry-run x X q,quiet i,interactive e,exclude:"),
    program(
        &["git checkout", "git switch"],
        (Gnu, Partial),
        "f,force,discard-changes b: B: c,create: C,force-create: d,detach t,track? q,quiet m,merge p,patch orphan:",
    ),
];
