//! Tables of build tools, package managers and the clients of container engines. Most of them run the code of a project
//! anyway; what counts is whether a rule that allows one by its name also covers a subcommand that runs another
//! program, and options that name a program or a file outside of the project.

use super::Coverage::{Complete, Partial};
use super::Style::{Dash, Exact, Gnu};
use super::{Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["ninja", "ninja-build"],
        (Gnu, Complete),
        "f:=file t:=write version v,verbose quiet C: j: k: l: n d: w: h,help",
    ),
    program(
        &["cmake"],
        (Exact, Partial),
        "P:=file C:=file E=ask toolchain:=file graphviz:=write trace-redirect:=write profiling-output:=write prefix:=write install-prefix:=write \
         D:=text U: S: B: G: T: A: i N L LA LH LAH H? W? preset: list-presets? fresh build: install: open:=ask j,parallel? t,target: config: \
         clean-first component: strip v,verbose workflow find-package=ask system-information=write log-level: log-context \
         debug-trycompile debug-output debug-find debug-find-pkg: debug-find-var: trace trace-expand trace-format: trace-source: \
         warn-uninitialized no-warn-unused-cli check-system-vars compile-no-warning-as-error profiling-format: h,help \
         version help-* default-directory-permissions: resolve-package-references: use-stderr",
    ),
    program(
        &["cargo"],
        (Exact, Partial),
        "config:=ask target-dir:=write artifact-dir,out-dir:=write C:=write Z: p,package? F,features: j,jobs: target? manifest-path: \
         lockfile-path:=write root:=write message-format: v,verbose q,quiet color: h,help V,version list explain: workspace exclude: \
         all lib bins bin? examples example? tests test? benches bench? all-targets doc all-features no-default-features r,release \
         debug profile: keep-going no-run no-fail-fast future-incompat-report unit-graph timings? ignore-rust-version locked offline \
         frozen check no-deps open=ask document-private-items e,edges: i,invert? prune: depth: d,duplicates f,format: \
         format-version: filter-platform: prefix: charset: no-dedupe E: L limit: precise: recursive aggressive dry-run vers: \
         build git: branch: tag: rev: path: dev optional rename: registry: index: crate-type: profile-sample: test-threads: \
         nocapture no-capture retries: fail-fast run-ignored: status-level: fix=write allow-dirty allow-staged allow-no-vcs edition idioms=write",
    )
    .subcommands(
        "b build c check t test bench d doc clippy fmt tree metadata pkgid locate-project search info fetch update \
         generate-lockfile clean version help verify-project read-manifest config add remove rm rustc rustdoc nextest/run nextest/list",
    ),
    program(
        &["go"],
        (Dash, Partial),
        "exec:=run toolexec:=run vettool:=run overlay:=ask ldflags:=text gcflags:=text asmflags:=text gccgoflags:=text compiler: \
         o:=write pkgdir:=write modfile:=file C:=write w=write u=write c=write coverprofile:=write cpuprofile:=write memprofile:=write \
         blockprofile:=write mutexprofile:=write trace:=write outputdir:=write artifacts=write test.*=write pgo: installsuffix: \
         fix=write i=write run: tags: count: timeout: mod: v x n a race msan asan cover covermode: coverpkg: bench: benchmem \
         benchtime: cpu: parallel: p: short failfast json list: skip: fuzz: fuzztime: shuffle: vet: args+ m f: e deps test \
         export compiled find modcacherw trimpath buildvcs* buildmode: linkshared work=write versions retracted reuse: all \
         src cmd h help V fullpath",
    )
    .subcommands(
        "build test vet list version env doc help mod/graph mod/why mod/verify mod/download mod/tidy",
    ),
    program(
        &["npm", "npx", "pnpm"],
        (Exact, Partial),
        "c,call:=run script-shell:=run shell:=run node-options:=ask git:=run editor:=run viewer:=run browser:=run \
         globalconfig:=file userconfig:=file prefix:=write C:=write dir:=write cache:=write logs-dir:=write pack-destination:=write \
         store-dir:=write modules-dir:=write lockfile-dir:=write init-module:=file onload-script:=ask node-gyp:=ask p,package: \
         w,workspace: workspaces ws include-workspace-root D,save-dev S,save E,save-exact O,save-optional P,save-prod no-save B,save-bundle \
         save-peer g,global omit: include: production prod dev optional legacy-peer-deps strict-peer-deps force f prefer-offline \
         prefer-online offline no-audit audit no-fund fund no-optional no-progress progress? ignore-scripts package-lock-only \
         no-package-lock frozen-lockfile no-frozen-lockfile dry-run s,silent q,quiet d dd ddd loglevel: verbose no-color color? json l,long a,all depth: \
         parseable registry: tag: y,yes no h,help v,version audit-level: engine-strict r,recursive filter: F: foreground-scripts \
         install-strategy: before: no-bin-links os: cpu: libc: fix=write reporter:",
    )
    .subcommands(
        "install i in ins inst add ci clean-install ic install-clean ls list ll la view info show v search s find outdated audit why \
         explain ping whoami root bin prefix help help-search doctor fund query  config/get config/list config/ls get \
         uninstall un rm r remove update up upgrade dedupe ddp prune",
    ),
    program(
        &["pytest", "py.test"],
        (Exact, Partial),
        "p: c,config-file:=ask o,override-ini:=ask pdbcls:=ask pastebin:=ask rootdir:=write confcutdir: junitxml,junit-xml:=write \
         basetemp:=write log-file:=write report-log:=write cov-config:=file debug?=write cov? cov-report: W,pythonwarnings: import-mode: k: m: \
         x,exitfirst maxfail: v,verbose q,quiet s capture: tb: l,showlocals lf,last-failed ff,failed-first nf,new-first sw,stepwise \
         durations: n,numprocesses: dist: r: co,collect-only ignore: ignore-glob: deselect: color: no-header no-summary strict-markers \
         strict-config fixtures markers cache-clear cache-show? pdb trace setup-show setup-only no-cov timeout: h,help V,version \
         disable-warnings log-cli-level: log-level: show-capture: full-trace runxfail doctest-modules reruns: no-fold-skipped",
    ),
    program(
        &["pip", "pip3"],
        (Gnu, Partial),
        "python:=ask log,log-file,local-log:=write report:=write editor:=ask target,t:=write root:=write prefix:=write src:=write cache-dir:=write \
         global-option:=ask build-option:=ask C,config-settings: config-setting: r,requirement: c,constraint: e,editable: \
         h,help debug isolated require-virtualenv v,verbose V,version q,quiet no-input keyring-provider: proxy: retries: timeout: \
         exists-action: trusted-host: cert: client-cert: no-cache-dir disable-pip-version-check no-color \
         no-python-version-warning use-feature: use-deprecated: o,outdated u,uptodate l,local user path: pre format: not-required \
         exclude-editable include-editable exclude: f,files all i,index-url,pypi-url: extra-index-url: no-index find-links: \
         no-deps U,upgrade upgrade-strategy: no-build-isolation dry-run y,yes",
    )
    .subcommands("list show freeze check help inspect debug hash search index/versions config/list config/get config/debug cache/dir cache/info cache/list"),
    program(
        &["docker", "podman", "nerdctl"],
        (Exact, Partial),
        "config:=file H,host,url:=ask c,context,connection:=ask remote=ask module:=ask root:=ask runroot:=ask conmon:=ask runtime:=ask \
         hooks-dir:=ask tlscacert: tlscert: tlskey: tls tlsverify D,debug l,log-level: v,version o,output:=write cidfile:=write \
         iidfile:=write metadata-file:=write a,all f,filter: format: n,last,tail: no-trunc q,quiet s,size latest follow since: \
         until: t,timestamps details no-stream help digests tree type: verbose human limit: no-index names pod sort: \
         noheading ns external",
    )
    .subcommands(
        "ps images logs inspect version info top stats port diff history search events wait image/ls image/list image/inspect \
         image/history container/ls container/list container/ps container/inspect container/logs container/top container/stats \
         container/port container/diff volume/ls volume/list volume/inspect network/ls network/list network/inspect system/df \
         system/info system/events context/ls context/show context/inspect manifest/inspect compose/ps compose/logs compose/ls \
         compose/images compose/top compose/version",
    ),
    program(
        &["kubectl", "oc"],
        (Exact, Partial),
        "kubeconfig:=file cache-dir:=write profile-output:=write profile:=write output-directory:=write log-file:=write log-dir:=write \
         as: as-group: as-uid: certificate-authority: client-certificate: client-key: cluster: context: disable-compression \
         insecure-skip-tls-verify match-server-version n,namespace: password: request-timeout: s,server: tls-server-name: token: \
         user: username: v: vmodule: warnings-as-errors o,output: A,all-namespaces l,selector: L,label-columns: w,watch watch-only \
         show-labels show-kind no-headers sort-by: field-selector: f,follow,filename: R,recursive c,container: p,previous \
         since: since-time: tail: timestamps all-containers prefix max-log-requests: limit-bytes: ignore-not-found chunk-size: \
         raw: template: show-managed-fields server-print? subresource: show-events? k,kustomize: api-group: namespaced? verbs: \
         cached short client api-version: containers use-protocol-buffers? h,help minify flatten ignore-errors \
         insecure-skip-tls-verify-backend pod-running-timeout: types: for: list q,quiet no-trunc",
    )
    .subcommands(
        "get describe logs version explain api-resources api-versions top cluster-info events config/view \
         config/get-contexts config/current-context config/get-clusters config/get-users auth/can-i auth/whoami rollout/status \
         rollout/history help options",
    ),
    program(
        &["gh"],
        (Exact, Partial),
        "D,dir:=write O,output:=write clobber=write w,web=ask R,repo: L,limit: s,state: a,assignee: A,author: l,label: S,search: json: q,jq: \
         t,template: c,comments B,base: H,head: d,draft m,milestone: p,patch name-only color: log log-failed j,job: u,user: \
         e,event: b,branch: commit: created: exit-status v,verbose i,interval: required fail-fast watch h,help version \
         show-token hostname: active paginate slurp cache: include preview: sort: order: owner: language: visibility: \
         exclude-drafts exclude-pre-releases mention: app: project: all attempt: conversation",
    )
    .subcommands(
        "pr/list pr/view pr/diff pr/checks pr/status issue/list issue/view issue/status repo/view repo/list run/list run/view \
         run/watch workflow/list workflow/view release/list release/view gist/list gist/view label/list search/repos search/issues \
         search/prs search/code search/commits auth/status cache/list secret/list variable/list variable/get ruleset/list \
         ruleset/view ruleset/check org/list project/list project/view status help version alias/list extension/list ssh-key/list \
         gpg-key/list config/list config/get codespace/list",
    ),
];
