//! Tables of compressors and archivers. They write the files that their operands say; the tables mark what runs a
//! program, deletes a file, or names another file to write.

use super::Coverage::{Complete, Partial};
use super::Style::{Dash, Exact, Gnu};
use super::{Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(&["bsdtar"], (Gnu, Partial), "use-compress-program:=run f,file: C,directory: T,files-from: X,exclude-from: s: b,block-size: I: \
         c,create r,append t,list u,update x,extract a,auto-compress z,gzip,gunzip j,bzip2,bunzip2 J,xz Z,compress zstd lz4 lzma lzop \
         lzip v,verbose k,keep-old-files O,to-stdout p,preserve-permissions P,absolute-paths m,modification-time strip-components: \
         exclude: include: format: options: numeric-owner no-recursion n h,H,L,dereference o U,unlink-first q,fast-read help version"),
    program(
        &["cpio"],
        (Gnu, Complete),
        "i,extract o,create p,pass-through t,list block-size: B c C,io-size: D,directory: force-local H,format: quiet R,owner: \
         v,verbose V,dot W,warning: F,file:=write M,message: rsh-command:=run rmt-command:=run b,swap f,nonmatching I: \
         n,numeric-uid-gid r,rename rename-batch-file: s,swap-bytes S,swap-halfwords to-stdout E,pattern-file: only-verify-crc \
         A,append device-independent,reproducible ignore-devno ignore-dirnlink O:=write renumber-inodes l,link absolute-filenames \
         no-absolute-filenames 0,null a,reset-access-time L,dereference d,make-directories m,preserve-modification-time \
         no-preserve-owner sparse u,unconditional ?,help usage version k 6 z T",
    ),
    program(
        &["zstd", "unzstd", "zstdcat", "zstdmt", "zstdless", "zstdgrep"],
        (Exact, Complete),
        "o:=write output-dir-flat:=write output-dir-mirror:=write trace:=write k,keep rm=write d,decompress,uncompress z,compress \
         D: f,force h H,help V,version c,stdout,to-stdout v,verbose q,quiet r ultra fast adapt long patch-from: T threads: \
         single-thread auto-threads B rsyncable exclude-compressed stream-size: size-hint: target-compressed-block-size: \
         no-dictID no-check check format: l,list t,test M memory: memlimit: memlimit-decompress: b e i S priority: sparse \
         no-sparse progress no-progress asyncio no-asyncio content-size no-content-size row-match-finder no-row-match-finder \
         compress-literals no-compress-literals pass-through no-pass-through mmap-dict no-mmap-dict filelist: dedicated-dict-search \
         1 2 3 4 5 6 7 8 9 0 C n m N a K G train=write train-cover=write train-fastcover=write train-legacy=write maxdict: dictID: s",
    ),
    program(
        &["gzip", "gunzip", "zcat", "pigz", "unpigz"],
        (Gnu, Complete),
        "a,ascii c,stdout,to-stdout d,decompress,uncompress f,force h,help k,keep l,list L,license n,no-name N,name q,quiet \
         r,recursive rsyncable S,suffix: synchronous t,test v,verbose V,version fast best 1 2 3 4 5 6 7 8 9 0 m M,time T,no-time \
         b,blocksize: p,processes: i,independent R K,zip z,zlib A,alias: C,comment: H,huffman U,rle Y",
    ),
    program(
        &["bzip2", "bunzip2", "bzcat", "pbzip2", "lbzip2"],
        (Gnu, Complete),
        "h,help d,decompress z,compress k,keep f,force t,test c,stdout q,quiet v,verbose L,license V,version s,small fast best \
         repetitive-fast repetitive-best 1 2 3 4 5 6 7 8 9",
    ),
    program(
        &["xz", "unxz", "xzcat", "lzma", "unlzma", "lzcat"],
        (Gnu, Complete),
        "z,compress d,decompress,uncompress t,test l,list k,keep f,force c,stdout,to-stdout single-stream no-sparse S,suffix: \
         files? files0? F,format: C,check: ignore-check 0 1 2 3 4 5 6 7 8 9 e,extreme fast best T,threads: block-size: block-list: \
         flush-timeout: memlimit-compress: memlimit-decompress: memlimit-mt-decompress: M,memlimit,memory: no-adjust lzma1? lzma2? \
         x86? arm? armthumb? arm64? powerpc? ia64? sparc? riscv? delta? filters: filters1: filters2: filters-help q,quiet v,verbose \
         Q,no-warn robot info-memory h,help H,long-help V,version",
    ),
    program(
        &["lz4", "unlz4", "lz4cat", "lz4c"],
        (Exact, Complete),
        "d,decompress,uncompress z,compress D f,force k,keep rm=write h H,help V,version v,verbose q,quiet c,stdout,to-stdout t,test \
         m,multiple r l B T no-frame-crc frame-crc no-content-size content-size no-crc list favor-decSpeed fast best sparse no-sparse \
         b e i 1 2 3 4 5 6 7 8 9 0 X I",
    )
    .writing_after(1),
    program(
        &["7z", "7za", "7zr", "7zz"],
        (Dash, Partial),
        "sdel=write seml*=ask w*=write ai* ax* ao* an bb* bd bs* bt i* m* o* p* r* sa* scc* scs* scrc* sfx* si* slp slt snh snl sni \
         sns* so spd spe spf* ssc* sse ssp ssw stl stm* stx* t* u* v* x* y h help",
    ),
    program(
        &["zip"],
        (Exact, Complete),
        "TT:=run unzip-command:=run O:=write out:=write output-file:=write lf:=write logfile-path:=write b:=write temp-path:=write \
         m=write move=write a A AC AS B c C C2 C5 d db dc dd df dg ds: du dv D DF e E f F FF FI FS fd fz g h h2 i: I ic j jj J k l la \
         li ll L MM n: nw N o p P: q r R RE s: sb sc sd sf so sp: su sU sv S t: tt: T u U v V ws wl x: X y z Z: 0 1 2 3 4 5 6 7 8 9 \
         UN? @ ! $ recurse-paths quiet verbose exclude: include: test password: encrypt junk-paths update freshen delete copy-entries \
         symlinks no-extra grow fix fixfix from-crlf to-crlf help more-help version license show-files show-command show-options \
         show-unicode split-size: split-pause: split-verbose compression-method: suffixes: filesync difference-archive \
         archive-comment entry-comments latest-time no-dir-entries names-stdin log-append log-info store must-match no-wild \
         from-date: before-date: dot-size: display-bytes display-counts display-dots display-globaldots display-usize display-volume \
         recurse-patterns paths adjust-sfx junk-sfx fifo regex",
    ),
    program(
        &["split", "gsplit"],
        (Gnu, Complete),
        "a,suffix-length: additional-suffix: b,bytes: C,line-bytes: d numeric-suffixes? x hex-suffixes? \
         e,elide-empty-files filter:=run l,lines: n,number: t,separator: u,unbuffered verbose help version 0 1 2 3 4 5 6 7 \
         8 9",
    )
    .writing_after(0),
    program(
        &["csplit", "gcsplit"],
        (Gnu, Complete),
        "b,suffix-format: f,prefix: k,keep-files suppress-matched n,digits: s,q,quiet,silent z,elide-empty-files help version",
    )
    .writing_after(0),
];
