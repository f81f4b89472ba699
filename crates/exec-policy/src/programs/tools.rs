//! Tables of other tools: viewers, version control, packages of systems, typesetting.

use super::Coverage::{Complete, Marked, Partial};
use super::Style::{Dash, Exact, Gnu};
use super::{Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(&["nix-shell"], (Exact, Marked), "run:=run command:=run p,packages:"),
    program(&["nix"], (Exact, Marked), "c,command:=run"),
    program(
        &["rake"],
        (Exact, Marked),
        "e,execute:=code E,execute-continue:=code p,execute-print:=code f,rakefile:=file r,require:=ask I,libdir:=ask R,rakelibdir:=file g,system=ask",
    ),
    program(&["mutt", "neomutt"], (Exact, Partial), "e:=ask F:=file s: a: c: b: i: f:"),
    program(
        &["fzf"],
        (Exact, Partial),
        "preview:=run bind:=ask become:=ask listen=ask with-shell:=run history:=write q,query: f,filter: d,delimiter: n,nth: with-nth: e,exact \
         x,extended i s tac no-sort m,multi? height: layout: border? prompt: header: ansi print0 read0 1,select-1 0,exit-0 reverse \
         cycle info: color: no-mouse tiebreak: version help",
    ),
    program(
        &["bat"],
        (Exact, Partial),
        "pager:=run diagnostic l,language: p,plain A,show-all n,number r,line-range: H,highlight-line: style: theme: color: paging: \
         decorations: wrap: tabs: terminal-width: d,diff m,map-syntax: file-name: s,squeeze-blank u,unbuffered L,list-languages \
         list-themes h,help V,version P f,force-colorization",
    ),
    program(
        &["delta"],
        (Exact, Marked),
        "pager:=run diff-args,@:=ask config:=file",
    ),
    program(
        &["prove"],
        (Gnu, Marked),
        "e,exec:=run harness:=ask formatter:=ask source:=ask P:=ask a,archive:=write rc:=file statefile:=write v,verbose l,lib b,blib \
         s,shuffle c,color f,failures o,comments m,merge r,recurse q,quiet Q,QUIET p,parse D,dry t T w W I: j,jobs: ext: \
         state: rules: norc timer h,help H,man V,version",
    ),
    program(
        &["svn"],
        (Exact, Partial),
        "diff-cmd:=run diff3-cmd:=run merge-cmd:=run editor-cmd:=run config-option:=ask config-dir:=ask m,message: F,file: r,revision: c,change: l,limit: v,verbose q,quiet u,show-updates x,extensions: \
         N,non-recursive depth: R,recursive xml stop-on-copy non-interactive username: password: no-auth-cache \
         trust-server-cert g,use-merge-history summarize version help diff",
    )
    .subcommands(
        "log status st stat diff di info list ls cat blame praise annotate ann help update up add propget pget pg proplist plist pl revert resolved",
    ),
    program(
        &["hg"],
        (Gnu, Partial),
        "config:=ask tool,t:=run e,ssh:=run remotecmd:=run profile=write R,repository: cwd:=write m,message: r,rev: l,limit: p,patch stat G,graph T,template: v,verbose q,quiet g,git b,branch: u,user: \
         d,date: k,keyword: c,change: follow dry-run no-pager pager: debug traceback time noninteractive y color: encoding: \
         version h,help A,all a X,exclude: I,include: o,output:=write",
    )
    .subcommands(
        "log history status st diff annotate blame branch branches tags tip heads parents paths root summary sum identify id \
         cat files manifest help version grep locate verify bookmarks phase add remove rm update up",
    ),
    program(
        &["latex", "pdflatex", "xelatex", "lualatex", "tex", "pdftex"],
        (Dash, Marked),
        "shell-escape=ask enable-write18=ask",
    ),
    program(
        &["apt", "apt-get", "apt-cache"],
        (Exact, Partial),
        "o,option:=text c,config-file:=file t,target-release: q,quiet? y,yes,assume-yes s,simulate,dry-run no-install-recommends install-suggests d,download-only \
         f,fix-broken m,fix-missing reinstall purge auto-remove,autoremove V,verbose-versions u,show-upgraded a,all-versions installed \
         upgradable names-only n,names-only2 full i,important h,help v,version no-upgrade only-upgrade allow-downgrades b,build",
    ),
    program(
        &["dpkg"],
        (Exact, Marked),
        "pre-invoke:=run post-invoke:=run status-logger:=run i,install=write unpack=write configure=write r,remove=write \
         P,purge=write triggers-only=write A,record-avail=write update-avail=write merge-avail=write clear-avail=write \
         set-selections=write clear-selections=write add-architecture=write remove-architecture=write b,build=write x,extract=write \
         X,vextract=write e,control=write R,raw-extract=write log:=write admindir:=file instdir:=file root:=file",
    ),
    program(
        &["rpm"],
        (Exact, Marked),
        "E,eval:=code pipe:=run D,define:=ask predefine:=ask load:=file macros:=file rcfile:=file q,query V,verify,checksig,K \
         version help querytags showrc",
    ),
    program(
        &["m4", "gm4"],
        (Gnu, Complete),
        "D,define:=code U,undefine: I,include: E,fatal-warnings P,prefix-builtins Q,quiet,silent warn-macro-sequence? i,interactive e \
         W,word-regexp: g,gnu G,traditional s,synclines H,hashsize: L,nesting-limit: F,freeze-state:=write R,reload-state:=file \
         d,debug? debugfile?=write o,error-output:=write l,arglength: t,trace: B: S: T: N: help version",
    ),
    program(&["restic"], (Exact, Marked), "password-command:=run o,option:=ask"),
    program(&["borg"], (Exact, Marked), "rsh:=run remote-path:=ask"),
    program(
        &["rclone"],
        (Exact, Partial),
        "password-command:=run sftp-ssh:=run metadata-mapper:=run webdav-bearer-token-command:=run config:=file log-file:=write \
         cache-dir:=write temp-dir:=write combined:=write differ:=write missing-on-src:=write missing-on-dst:=write match:=write \
         error:=write O,output-file:=write v,verbose q,quiet n,dry-run P,progress max-depth: R,recursive include: exclude: filter: \
         include-from: exclude-from: filter-from: files-from: s,separator: format: F: dirs-only files-only hash json human-readable \
         stats: transfers: checkers: fast-list size-only checksum max-age: min-age: max-size: min-size: log-level: h,help V,version \
         one-way full count: head: tail: offset: discard",
    )
    .subcommands("ls lsd lsl lsf lsjson size about version help listremotes cat tree check cryptcheck md5sum sha1sum hashsum"),
    program(
        &["unison"],
        (Dash, Marked),
        "sshcmd:=run rshcmd:=run sshargs:=ask rshargs:=ask servercmd:=ask diff:=run merge:=run",
    ),
    program(
        &["certbot"],
        (Gnu, Marked),
        "pre-hook:=run post-hook:=run deploy-hook:=run renew-hook:=run manual-auth-hook:=run manual-cleanup-hook:=run",
    ),
    program(&["gcloud"], (Exact, Marked), "command:=run"),
    program(&["fly", "flyctl"], (Exact, Marked), "C,command:=run"),
    program(&["sk"], (Gnu, Marked), "preview:=run bind:=ask c,cmd:=run"),
];
