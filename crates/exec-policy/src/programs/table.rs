//! Tables of tools that every system has: archives, text, files, builds and compilers.

use super::Coverage::{Complete, Partial};
use super::Style::{Dash, Gnu, Posix, Tar};
use super::{Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["tar", "gtar"],
        (Tar, Complete),
        "A,catenate,concatenate c,create delete d,diff,compare r,append test-label t,list u,update x,extract,get check-device \
         g,listed-incremental:=write G,incremental hole-detection: ignore-failed-read level: no-check-device no-seek n,seek \
         occurrence? sparse-version: S,sparse add-file: C,directory: exclude: exclude-backups exclude-caches \
         exclude-caches-all exclude-caches-under exclude-ignore: exclude-ignore-recursive: exclude-tag: exclude-tag-all: \
         exclude-tag-under: exclude-vcs exclude-vcs-ignores no-null no-recursion no-unquote no-verbatim-files-from null \
         verbatim-files-from recursion T,files-from: unquote X,exclude-from: anchored ignore-case no-anchored \
         no-ignore-case no-wildcards no-wildcards-match-slash wildcards wildcards-match-slash keep-directory-symlink \
         keep-newer-files k,keep-old-files no-overwrite-dir one-top-level? overwrite overwrite-dir recursive-unlink \
         remove-files skip-old-files U,unlink-first W,verify ignore-command-error no-ignore-command-error O,to-stdout \
         to-command:=run atime-preserve? clamp-mtime delay-directory-restore group: group-map: mode: mtime: m,touch \
         no-delay-directory-restore no-same-owner no-same-permissions numeric-owner owner: owner-map: \
         p,preserve-permissions,same-permissions same-owner sort: s,preserve-order,same-order acls no-acls no-selinux \
         no-xattrs selinux xattrs xattrs-exclude: xattrs-include: force-local f,file: \
         F,info-script,new-volume-script:=run L,tape-length: M,multi-volume rmt-command:=run rsh-command:=run volno-file:=write \
         b,blocking-factor: B,read-full-records i,ignore-zeros record-size: H,format: old-archive,portability pax-option: \
         posix V,label: a,auto-compress I,use-compress-program:=run j,bzip2 J,xz lzip lzma lzop no-auto-compress zstd \
         z,gzip,gunzip,ungzip Z,compress,uncompress backup? hard-dereference h,dereference K,starting-file: newer-mtime: \
         N,newer,after-date: one-file-system P,absolute-names suffix: strip-components: transform,xform: checkpoint? \
         checkpoint-action:=text full-time index-file:=write l,check-links no-quote-chars: quote-chars: quoting-style: \
         R,block-number show-defaults show-omitted-dirs,show-stored-names show-snapshot-field-ranges \
         show-transformed-names totals? utc v,verbose warning: w,interactive,confirmation o restrict help usage version",
    ),
    program(
        &["sort", "gsort"],
        (Gnu, Complete),
        "b,ignore-leading-blanks d,dictionary-order f,ignore-case g,general-numeric-sort i,ignore-nonprinting M,month-sort \
         h,human-numeric-sort n,numeric-sort R,random-sort random-source: r,reverse sort: V,version-sort batch-size: \
         c,check? C compress-program:=run debug files0-from: k,key: m,merge o,output:=write s,stable S,buffer-size: \
         t,field-separator: T,temporary-directory: parallel: u,unique z,zero-terminated help version",
    ),
    program(
        &["sed", "gsed"],
        (Gnu, Complete),
        "n,quiet,silent debug e,expression:=text f,file:=file follow-symlinks i,in-place?=write I?=write l,line-length: \
         posix E,r,regexp-extended s,separate u,unbuffered z,null-data sandbox b,binary a help version",
    ),
    program(
        &["awk", "gawk", "mawk", "nawk", "original-awk"],
        (Posix, Complete),
        "F,field-separator: v,assign: f,file:=file b,characters-as-bytes c,traditional C,copyright \
         d,dump-variables?=write D,debug?=ask e,source:=text E,exec:=file g,gen-pot h,help i,include:=file I,trace \
         l,load:=ask L,lint? M,bignum N,use-lc-numeric n,non-decimal-data o,pretty-print?=write O,optimize \
         p,profile?=write P,posix r,re-interval s,no-optimize S,sandbox t,lint-old V,version k,csv W:=ask",
    ),
    program(
        &["make", "gmake"],
        (Gnu, Complete),
        "b m B,always-make C,directory: d debug? e,environment-overrides E,eval:=ask f,file,makefile:=file h,help \
         i,ignore-errors I,include-dir: j,jobs? k,keep-going l,load-average,max-load? L,check-symlink-times \
         n,just-print,dry-run,recon o,old-file,assume-old: O,output-sync? p,print-data-base q,question \
         r,no-builtin-rules R,no-builtin-variables s,silent,quiet no-silent S,no-keep-going,stop t,touch trace v,version \
         w,print-directory no-print-directory W,what-if,new-file,assume-new: warn-undefined-variables shuffle? \
         jobserver-style:",
    ),
    program(
        &["gcc", "cc", "g++", "c++", "clang", "clang++", "tcc", "gfortran"],
        (Dash, Complete),
        "c S E o: o* O* g* W* f* m* std* D* U* I* L* l* v p pg pipe pthread shared* static* s r nostd* nodefaultlibs \
         nostartfiles nolibc pie no-pie rdynamic x* include: imacros: isystem* iquote* idirafter* isysroot* iprefix* \
         iwithprefix* M MM MD MMD MF* MT* MQ* MP MG ansi pedantic* trigraphs w d* print-* save-temps* time* Q H C CC P A* \
         undef u* z* T* e* Xlinker:=text Xassembler: Xpreprocessor: arch: target* sysroot* version help* V* traditional* \
         remap coverage framework: F* ObjC* no-canonical-prefixes emit-llvm Xclang:=ask wrapper:=ask specs*=ask \
         fplugin*=ask fpass-plugin*=ask iplugindir*=ask B*=ask Wl*=text load*=ask ### no-integrated-cpp=ask \
         gcc-toolchain*=ask gcc-install-dir*=ask ld-path*=ask fuse-ld*=text",
    ),
    program(
        &["rm", "grm"],
        (Gnu, Partial),
        "f,force i I interactive? one-file-system no-preserve-root preserve-root? r,R,recursive d,dir v,verbose",
    ),
    program(
        &["cp", "gcp"],
        (Gnu, Partial),
        "a,archive b d f,force i,interactive H l,link L,dereference n,no-clobber P,no-dereference p r,R,recursive \
         s,symbolic-link S,suffix: t,target-directory: T,no-target-directory u,update? v,verbose x,one-file-system",
    ),
    program(
        &["mv", "gmv"],
        (Gnu, Partial),
        "b f,force i,interactive n,no-clobber S,suffix: t,target-directory: T,no-target-directory u,update? v,verbose",
    ),
    program(
        &["ln", "gln"],
        (Gnu, Partial),
        "b f,force i,interactive L,logical n,no-dereference P,physical r,relative s,symbolic S,suffix: \
         t,target-directory: T,no-target-directory v,verbose",
    ),
    program(
        &["chmod", "chown", "chgrp"],
        (Gnu, Partial),
        "c,changes f,silent,quiet v,verbose h,no-dereference from: H L P R,recursive reference: no-preserve-root \
         preserve-root",
    ),
    program(
        &["install", "ginstall"],
        (Gnu, Partial),
        "strip-program:=run b c C,compare d,directory D g,group: m,mode: o,owner: p,preserve-timestamps s,strip S,suffix: \
         t,target-directory: T,no-target-directory v,verbose",
    ),
    program(
        &["file"],
        (Gnu, Complete),
        "C,compile=write m,magic-file: f,files-from: F,separator: e,exclude: exclude-quiet: P,parameter: b,brief \
         c,checking-printout d,debug E extension h,no-dereference i,mime mime-type mime-encoding k,keep-going l,list \
         L,dereference n,no-buffer N,no-pad 0,print0 p,preserve-date r,raw apple s,special-files S,no-sandbox v,version \
         z,uncompress Z,uncompress-noreport help",
    ),
    program(
        &["date", "gdate"],
        (Gnu, Complete),
        "s,set:=write d,date: debug f,file: I,iso-8601? resolution R,rfc-email rfc-822 rfc-3339: r,reference: \
         u,utc,universal,uct help version",
    ),
];
