//! Tables of compilers and of other tools of languages. They write what they compile; the tables mark what makes them
//! run another program, load a plugin or write elsewhere.

use super::Coverage::{Marked, Partial};
use super::Style::{Dash, Exact};
use super::{Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["rustc", "rustdoc"],
        (Exact, Partial),
        "C,codegen: Z:=ask o:=write out-dir,output:=write emit: print: sysroot:=ask extern:=file L,library-path: l: crate-type: \
         crate-name: edition: g O test=code cfg: check-cfg: target: W,warn: A,allow: D,deny: F,forbid: force-warn: cap-lints: v,verbose \
         V,version h,help explain: color: error-format: json: remap-path-prefix: diagnostic-width: test-runtool,runtool:=run \
         test-builder,test-builder-wrapper:=run test-args: document-private-items no-deps",
    ),
    program(
        &["ghc"],
        (Dash, Partial),
        "e:=code e*=code pgm*=ask F=ask fplugin*=ask package-db:=file package-env:=file user-package-db=write B*=ask interactive=code \
         run=code opt*=ask O* W* w v* i* X* threaded package: hide-package: package-id: c S E M* make o: odir: hidir: outputdir: l* L* \
         static dynamic prof debug rtsopts* j* f* no-link cpp D* U* I* ddump* keep-* main-is: version help numeric-version info",
    ),
    program(
        &["kotlinc", "kotlin", "scalac", "scala"],
        (Dash, Marked),
        "Xplugin*=ask J*=ask P:=ask toolcp:=ask Xpluginsdir:=ask script=code e:=code expression:=code script-templates:=ask",
    ),
    program(
        &["ocamlc", "ocamlopt", "ocamlc.opt", "ocamlopt.opt", "ocamlbuild"],
        (Dash, Marked),
        "pp:=run ppx:=run cc:=run ccopt:=ask plugin:=ask use-runtime:=ask ocamlc:=run ocamlopt:=run plugins:=ask plugin-tag:=ask o:",
    ),
    program(
        &["ocamlfind"],
        (Dash, Marked),
        "pp:=run ppx:=run cc:=run ccopt:=ask toolchain:=ask destdir:=write o: package: predicates: syntax: ppopt:=ask ppxopt:=ask",
    )
    .subcommands("ocamlc ocamlopt ocamldep list query printconf"),
    program(
        &["swiftc", "swift"],
        (Dash, Marked),
        "use-ld:=run tools-directory:=ask load-plugin-executable:=ask load-plugin-library:=ask plugin-path:=ask Xlinker:=ask \
         Xclang-linker:=ask Xcc:=ask Xfrontend:=ask working-directory:=write package-path:=write e:=code o:",
    ),
    program(
        &["nvcc"],
        (Dash, Marked),
        "ccbin:=run compiler-bindir:=run run=code Xcompiler:=ask Xlinker:=ask compiler-options:=ask linker-options:=ask optf:=file \
         options-file:=file o:",
    ),
    program(&["dmd", "ldc2"], (Dash, Marked), "run=code Xcc*=ask gcc*=ask linker*=ask plugin*=ask of* od*"),
    program(&["zig"], (Dash, Marked), "o:").subcommands("version zen env targets ast-check help"),
    program(&["crystal"], (Exact, Marked), "o:").subcommands("version env help"),
    program(&["dart", "flutter"], (Exact, Marked), "o,output:=write").subcommands("--version help info analyze devices doctor"),
];
