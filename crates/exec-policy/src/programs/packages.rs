//! Tables of package managers, build tools and tools for clusters. A subcommand that is not listed may run another
//! program.

use super::Coverage::{Marked, Partial};
use super::Style::{Dash, Exact, Gnu};
use super::{Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["gem"],
        (Exact, Partial),
        "config-file:=file install-dir:=write bindir:=write i,installed n l,local r,remote a,all v,version: q,quiet V,verbose h,help d,details versions \
         pre prerelease e,exact norc b,both s,source:",
    )
    .subcommands("list search help which environment env contents dependency info outdated specification stale query"),
    program(
        &["mvn", "mvnw"],
        (Dash, Partial),
        "f:=write file:=write s:=file settings:=file gs:=file global-settings:=file t:=file toolchains:=file gt:=file \
         global-toolchains:=file l:=write log-file:=write D* q quiet B batch-mode U update-snapshots o offline X e errors P* pl: \
         projects: am also-make amd also-make-dependents T* v version V show-version h help N non-recursive fae fn ff \
         fail-at-end fail-fast fail-never C c ntp no-transfer-progress rf: resume-from:",
    ),
    program(
        &["gradle", "gradlew"],
        (Exact, Partial),
        "I,init-script:=file b,build-file:=file c,settings-file:=file p,project-dir:=write g,gradle-user-home:=write \
         include-build:=file project-cache-dir:=write D,system-prop:=file P,project-prop: x,exclude-task: q,quiet i,info d,debug \
         s,stacktrace S,full-stacktrace w,warn a,no-rebuild m,dry-run t,continuous offline daemon no-daemon parallel no-parallel \
         build-cache no-build-cache continue refresh-dependencies rerun-tasks max-workers: console: stop status v,version h,help \
         tests: configuration-cache no-configuration-cache profile warning-mode: write-locks=write",
    ),
    program(
        &["ant"],
        (Dash, Marked),
        "f:=file file:=file buildfile:=file lib:=ask logger:=ask listener:=ask inputhandler:=ask main:=ask l:=write logfile:=write \
         propertyfile:=file autoproxy",
    ),
    program(
        &["scons"],
        (Exact, Marked),
        "f,file,makefile,sconstruct:=file C,directory:=write site-dir:=ask Y,repository,srcdir:=file interactive=ask",
    ),
    program(&["task", "go-task"], (Exact, Marked), "t,taskfile:=file d,dir:=write init=write g,global=write"),
    program(
        &["just"],
        (Exact, Marked),
        "f,justfile:=file d,working-directory:=write e,edit=ask init=write fmt=write g,global-justfile=write dotenv-path:=file \
         dotenv-filename:=file c,command: shell: shell-arg: chooser: set:",
    ),
    program(
        &["meson"],
        (Gnu, Partial),
        "wrapper:=run gdb-path:=run C:=write native-file:=file cross-file:=file logbase:=write j,num-processes,jobs: v,verbose suite: repeat: \
         list no-rebuild q,quiet t,timeout-multiplier: targets tests buildoptions a,all dependencies installed projectinfo h,help version \
         print-errorlogs clean",
    )
    .subcommands("compile test introspect help"),
    program(
        &["bazel", "bazelisk"],
        (Exact, Marked),
        "run_under:=run workspace_status_command:=run bazelrc:=file output_base:=write output_user_root:=write server_javabase:=ask \
         host_jvm_args:=ask output_file:=write action_env:=ask host_action_env:=ask repo_env:=ask shell_executable:=run \
         override_repository:=file override_module:=file symlink_prefix:=write disk_cache:=write explain:=write profile:=write \
         build_event_json_file:=write credential_helper:=run",
    ),
    program(
        &["ctest", "cpack"],
        (Exact, Marked),
        "S,script:=file build-and-test=ask build-makeprogram:=run test-command:=run overwrite:=ask O,output-log:=write \
         output-junit:=write test-dir:=write config:=file B:=write extra-submit:=ask",
    ),
    program(
        &["composer"],
        (Exact, Partial),
        "d,working-dir:=write q,quiet v,verbose vv vvv n,no-interaction ansi no-ansi no-plugins no-scripts h,help V,version a,all i,installed \
         t,tree o,outdated D,direct format: latest no-dev",
    )
    .subcommands("show info outdated licenses validate why depends why-not prohibits search about help list suggests fund audit"),
    program(&["bundle"], (Exact, Partial), "gemfile:=file path:=write r,retry: verbose no-color h,help v,version name-only paths")
        .subcommands("list show info outdated check help version platform"),
    program(&["pipx"], (Exact, Partial), "python:=ask q,quiet v,verbose h,help version json short include-injected")
        .subcommands("list environment completions help"),
    program(
        &["uv"],
        (Exact, Partial),
        "directory:=write project:=write config-file:=file p,python:=ask cache-dir:=write o,output-file:=write q,quiet v,verbose color: \
         offline n,no-cache no-config no-progress h,help V,version all-groups depth: outdated format: extra: group: locked frozen",
    )
    .subcommands("tree version help pip/list pip/show pip/freeze pip/tree pip/check python/list python/dir cache/dir tool/list tool/dir"),
    program(
        &["poetry"],
        (Exact, Partial),
        "C,directory:=write P,project:=write q,quiet v,verbose ansi no-ansi n,no-interaction no-plugins no-cache h,help V,version t,tree l,latest \
         o,outdated a,all with: without: only: T,top-level",
    )
    .subcommands("show check version about help list search env/info env/list"),
    program(&["conda", "mamba", "micromamba"], (Gnu, Partial), "n,name: p,prefix: json h,help V,version v,verbose q,quiet show show-sources")
        .subcommands("list info search help env/list"),
    program(&["brew"], (Exact, Partial), "q,quiet v,verbose d,debug h,help json? formula cask versions full-name")
        .subcommands("list ls info search outdated deps uses leaves config doctor home desc --version --prefix --cellar help"),
    program(
        &["yarn", "bun"],
        (Exact, Marked),
        "cwd:=write script-shell:=run use-yarnrc:=file r,preload,require:=ask e,eval:=code p,print:=code c,config?=file outfile:=write outdir:=write \
         env-file:=file shell:=ask",
    )
    .subcommands("install add remove list info why outdated audit versions help check pm/ls licenses/list test build"),
    program(
        &["deno"],
        (Exact, Marked),
        "c,config:=file import-map:=file preload:=ask env-file?=file coverage?=write o,output:=write lock:=file v8-flags?=ask",
    )
    .subcommands("check lint info doc types help test bench"),
    program(
        &["terraform", "tofu"],
        (Dash, Partial),
        "chdir:=write out:=write state:=write state-out:=write backup:=write plugin-dir:=ask var: var-file: json no-color check diff recursive \
         list input: help version raw type:",
    )
    .subcommands("version validate plan show output graph providers state/list state/show workspace/list workspace/show help"),
    program(
        &["helm"],
        (Exact, Partial),
        "post-renderer:=run post-renderer-args:=ask kubeconfig:=file registry-config:=file repository-config:=file repository-cache:=write \
         output-dir:=write d,destination:=write n,namespace: A,all-namespaces kube-context: o,output: f,values: set: set-string: a,all q,short \
         debug h,help version: m,max: revision: s,show-only: include-crds strict",
    )
    .subcommands("list ls status history get show version env search help lint template repo/list plugin/list"),
    program(
        &["kustomize"],
        (Exact, Partial),
        "enable-exec=ask enable-alpha-plugins=ask enable-star=ask network=ask mount:=ask e,env:=ask enable-helm=ask helm-command:=run \
         o,output:=write load-restrictor: h,help",
    )
    .subcommands("build version help"),
    program(&["vagrant"], (Exact, Marked), "c,command:=run plugin-clean-sources")
        .subcommands("status global-status version port ssh-config help box/list plugin/list"),
    program(&["packer"], (Dash, Marked), "o:=write").subcommands("version help"),
    program(&["virsh"], (Exact, Marked), "c,connect:=ask l,log:=write")
        .subcommands("list dominfo domstate nodeinfo version net-list pool-list vol-list help dumpxml"),
    program(
        &["jj"],
        (Exact, Partial),
        "config:=ask config-toml:=ask config-file:=file tool:=run R,repository:=write r,revisions,revision: T,template: p,patch s,summary stat git \
         color-words name-only types n,limit: G,no-graph reversed from: to: color: quiet no-pager ignore-working-copy at-operation,at-op: h,help V,version",
    )
    .subcommands("log status st diff show version help op/log evolog interdiff file/list file/show bookmark/list root tag/list"),
    program(&["fossil"], (Dash, Partial), "command:=run R:=file chdir:=write tk=ask editor:=run n: v verbose W: t: brief")
        .subcommands("status timeline diff info version help ls extras changes finfo annotate blame"),
];
