//! Tables of tools for object files: the binutils, compilers' helpers and the Java launcher.

use super::Coverage::{Marked, Partial};
use super::Style::{Dash, Gnu};
use super::{Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["nm", "gcc-nm"],
        (Gnu, Partial),
        "plugin:=ask a,debug-syms A,print-file-name B C,demangle? no-demangle recurse-limit no-recurse-limit D,dynamic e f,format: \
         g,extern-only ifunc-chars: j,just-symbols l,line-numbers n,v,numeric-sort o p,no-sort P,portability \
         r,reverse-sort S,print-size s,print-armap quiet size-sort special-syms synthetic t,radix: target: u,undefined-only \
         U,defined-only unicode: W,no-weak with-symbol-versions without-symbol-versions X: h,help V,version",
    ),
    program(
        &["ar", "gcc-ar", "ranlib", "gcc-ranlib"],
        (super::Style::Tar, Partial),
        "plugin:=ask target: output:=write record-libdeps: thin help version d m p q r s t x a b c D f i l o O P S T u U v V N M=file",
    ),
    program(
        &["strip", "objcopy"],
        (Gnu, Marked),
        "plugin:=ask o:=write dump-section:=write add-gnu-debuglink: I,input-target: O,output-target: F,target: R,remove-section: \
         N,strip-symbol: K,keep-symbol: j,only-section:",
    ),
    program(
        &["ld", "ld.bfd", "ld.gold", "ld.lld", "lld", "gold", "mold"],
        (Dash, Marked),
        "pl*=ask load*=ask Map*=write T*=file \
         dynamic-list*=file version-script*=file retain-symbols-file*=file c*=file script*=file dependency-file*=write \
         print-map o: L* l* e* m* r s shared static rpath*",
    ),
    program(
        &["objdump", "readelf", "strings", "size", "addr2line", "c++filt", "as"],
        (Gnu, Marked),
        "plugin:=ask MD:=write",
    ),
    // The virtual machine runs a command when it fails, and loads libraries as agents.
    program(
        &["java", "javac", "jshell"],
        (Dash, Marked),
        "XX:OnError*=ask XX:OnOutOfMemoryError*=ask XX:Flags*=file XX:VMOptionsFile*=file XX:CompileCommandFile*=file \
         XX:LogFile*=write XX:HeapDumpPath*=write XX:ErrorFile*=write XX:StartFlightRecording*=write XX:ReplayDataFile*=file \
         Xlog*=write Xloggc*=write javaagent*=ask agentpath*=ask agentlib*=ask processorpath:=ask processor-path:=ask processor-module-path:=ask Xplugin*=ask processor:=ask J*=ask \
         cp: classpath: class-path: d: jar: m:",
    ),
];
