//! Tables of other tools: networks, databases, packages.

use super::Coverage::{Complete, Partial};
use super::Style::{Dash, Exact, Gnu};
use super::{Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["curl"],
        (Gnu, Partial),
        "o,output:=write O,remote-name=write remote-name-all=write K,config:=file c,cookie-jar:=write \
         D,dump-header:=write trace:=write trace-ascii:=write stderr:=write libcurl:=write etag-save:=write \
         hsts:=write alt-svc:=write ssl-sessions:=write \
         engine:=ask output-dir: A,user-agent: b,cookie: C: d,data: e,referer: E,cert: F,form: H,header: m,max-time: P: Q: \
         r: t: T,upload-file:=write u,user: U: w,write-out:=text x,proxy: X,request: y: Y: z: url: f,fail s,silent S,show-error \
         L,location k,insecure",
    ),
    program(
        &["wget"],
        (Gnu, Partial),
        "O,output-document:=write o,output-file:=write a,append-output:=write e,execute:=text use-askpass:=run \
         config:=file save-cookies:=write hsts-file:=write warc-file:=write rejected-log:=write P: i: B: t: T: w: Q: U: D: A: R: I: X: l: header: post-data: post-file: user: password:",
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
    program(&["ag"], (Gnu, Partial), "pager:=run G: g: m: A? B? C? p: W: depth: ignore:"),
    program(&["ack"], (Gnu, Partial), "pager?=run ackrc:=file output: A: B: C: m: match: type:"),
    program(
        &["pip", "pip3"],
        (Gnu, Partial),
        "python:=ask log:=write report:=write r,requirement: c,constraint: e,editable: t:",
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
];
