//! Tables of tools that read, search, compare and convert texts.

use super::Coverage::{Complete, Partial};
use super::Style::{Dash, DashFirst, Exact, Gnu, Spread};
use super::{Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(&["iconv"], (Gnu, Complete), "f,from-code: t,to-code: l,list c o,output:=write s,silent verbose ?,help usage V,version"),
    program(
        &["shuf", "gshuf"],
        (Gnu, Complete),
        "o,output:=write e,echo i,input-range: n,head-count: random-source: r,repeat z,zero-terminated help version",
    ),
    program(
        &["uniq", "guniq"],
        (Gnu, Complete),
        "c,count d,repeated D all-repeated? f,skip-fields: group? i,ignore-case \
         s,skip-chars: u,unique z,zero-terminated w,check-chars: help version 0 1 2 3 4 5 6 7 8 9",
    )
    .writing_after(1),
    // Without the extensions of GNU, the second file is the one that it writes.
    program(
        &["ptx", "gptx"],
        (Gnu, Complete),
        "A,auto-reference G,traditional=write F,flag-truncation: M,macro-name: O T format: R,right-side-refs S,sentence-regexp: \
         W,word-regexp: b,break-file: f,ignore-case g,gap-size: i,ignore-file: o,only-file: r,references t,typeset-mode w,width: \
         help version",
    ),
    program(
        &["xxd"],
        (DashFirst, Complete),
        "c,cols: c* g,groupsize: g* l,len: l* n,name: o: o* s,seek: s* R: a,autoskip b,bits C,capitalize e E,EBCDIC i,include \
         p,ps,postscript,plain r,revert rp u,uppercase d h,help v,version t",
    )
    .writing_after(1),
    program(
        &["tree"],
        (Spread, Complete),
        "o,output:=write R=write L: P: I: H: T: a d f l x s h p u g D i n C F q N Q v t c U r J X A S filelimit: charset: timefmt: \
         sort: gitfile: infofile: fromfile fromtabfile dirsfirst filesfirst noreport prune du si gitignore ignore-case matchdirs \
         metafirst info inodes device nolinks hintro: houtro: fflinks version help acl selinux hyperlink scheme: authority: \
         opt-toggle",
    ),
    program(
        &["diff3"],
        (Gnu, Complete),
        "diff-program:=run L,label: A,show-all e,ed E,show-overlap 3,easy-only x,overlap-only X i m,merge a,text strip-trailing-cr \
         T,initial-tab help v,version",
    ),
    program(
        &["sdiff"],
        (Gnu, Complete),
        "o,output:=write diff-program:=run I,ignore-matching-lines: w,width: i,ignore-case E,ignore-tab-expansion \
         Z,ignore-trailing-space b,ignore-space-change W,ignore-all-space B,ignore-blank-lines strip-trailing-cr a,text \
         l,left-column s,suppress-common-lines t,expand-tabs tabsize: d,minimal H,speed-large-files help v,version",
    ),
    program(
        &["patch", "gpatch"],
        (Gnu, Complete),
        "e,ed=ask o,output:=write r,reject-file:=write B,prefix:=write Y,basename-prefix:=write g,get:=ask p,strip: F,fuzz: \
         l,ignore-whitespace c,context n,normal u,unified N,forward R,reverse i,input: D,ifdef: merge? E,remove-empty-files \
         Z,set-utc T,set-time quoting-style: b,backup backup-if-mismatch no-backup-if-mismatch V,version-control: z,suffix: t,batch \
         f,force s,quiet,silent verbose dry-run posix d,directory: reject-format: binary read-only: follow-symlinks v,version help",
    ),
    program(
        &["ctags", "ctags-universal", "ctags-exuberant"],
        (Exact, Partial),
        "f:=write o:=write options:=file options-maybe:=file optlib-dir:=file totals? x e a n N u V h: L: R B F D: I: G \
         append? exclude: exclude-exception: fields: fields-*: kinds-*: extras: extras-*: format: output-format: sort: recurse? \
         languages: language-force: langmap: map-*: excmd: links? maxdepth: tag-relative: pattern-length-limit: pseudo-tags: \
         input-encoding: output-encoding: list-* quiet? verbose? version help help-full license machinable? with-list-header? \
         print-language guess-language-eagerly",
    ),
    program(
        &["dot", "neato", "twopi", "circo", "fdp", "sfdp", "osage", "patchwork"],
        (Dash, Partial),
        "o:=write o*=write O=write l*=ask c=write V v G* N* E* T* K* P q* s* y n* x L* m* ?",
    ),
    program(
        &["pandoc"],
        (Gnu, Complete),
        "o,output:=write F,filter:=run L,lua-filter:=ask pdf-engine:=run pdf-engine-opt:=ask d,defaults:=file data-dir:=file \
         extract-media:=write log:=write f,r,from,read:=text t,w,to,write:=text M,metadata: metadata-file: file-scope? sandbox? \
         s standalone? template: V,variable: variable-json: wrap: ascii? toc,table-of-contents? toc-depth: lof? lot? \
         N number-sections? number-offset: top-level-division: resource-path: H,include-in-header: B,include-before-body: \
         A,include-after-body: no-highlight highlight-style: syntax-definition: syntax-highlighting: dpi: eol: columns: \
         p preserve-tabs? tab-stop: reference-doc: self-contained? embed-resources? link-images? request-header: \
         no-check-certificate? abbreviations: indented-code-classes: default-image-extension: shift-heading-level-by: \
         base-header-level: strip-empty-paragraphs? track-changes: strip-comments? reference-links? reference-location: \
         figure-caption-position: table-caption-position: atx-headers markdown-headings: list-tables? listings? i incremental? \
         slide-level: section-divs? html-q-tags? email-obfuscation: id-prefix: T,title-prefix: c,css: epub-subdirectory: \
         epub-cover-image: epub-title-page? epub-metadata: epub-embed-font: epub-chapter-level: split-level: chunk-template: \
         ipynb-output: C citeproc? bibliography: csl: citation-abbreviations: natbib biblatex mathml webtex? mathjax? katex? \
         gladtex trace? dump-args? ignore-args? verbose quiet fail-if-warnings? bash-completion list-input-formats \
         list-output-formats list-extensions? list-highlight-languages list-highlight-styles D,print-default-template: \
         print-default-data-file: print-highlight-style: v,version h,help",
    ),
    program(
        &["yq"],
        (Exact, Partial),
        "i,in-place,inplace=write s,split-exp:=write split-exp-file:=file from-file:=file f,front-matter: w: p,input-format: o,output-format: I,indent: r unwrapScalar? \
         e,exit-status n,null-input c C,colors M,no-colors N,no-doc P,prettyPrint v,verbose j,tojson R S y Y,yaml-roundtrip \
         yaml-output arg: argjson: slurpfile: rawfile: args jsonargs tab h,help V,version width: xml-*: csv-*: tsv-*: 0,nul-output",
    ),
    program(
        &["rg", "ripgrep"],
        (Exact, Complete),
        "pre:=run hostname-bin:=run pre-glob: no-pre g,glob: e,regexp: f,file: t,type: T,type-not: A,after-context: \
         B,before-context: C,context: m,max-count: M,max-columns: r,replace: j,threads: E,encoding: d,max-depth,maxdepth: \
         auto-hybrid-regex no-auto-hybrid-regex binary no-binary block-buffered no-block-buffered b,byte-offset no-byte-offset \
         s,case-sensitive color: colors: column no-column context-separator: no-context-separator c,count count-matches crlf \
         no-crlf debug dfa-size-limit: max-filesize: no-encoding engine: field-context-separator: field-match-separator: files \
         l,files-with-matches files-without-match F,fixed-strings no-fixed-strings L,follow no-follow glob-case-insensitive \
         no-glob-case-insensitive h,help heading no-heading hidden no-hidden . hyperlink-format: iglob: i,ignore-case ignore-file: \
         ignore-file-case-insensitive no-ignore-file-case-insensitive ignore ignore-dot ignore-exclude ignore-files ignore-global \
         ignore-messages ignore-parent ignore-vcs include-zero no-include-zero v,invert-match no-invert-match json no-json \
         line-buffered no-line-buffered n,line-number x,line-regexp max-columns-preview no-max-columns-preview messages mmap \
         no-mmap U,multiline no-multiline multiline-dotall no-multiline-dotall no-config I,no-filename no-ignore no-ignore-dot \
         no-ignore-exclude no-ignore-files no-ignore-global no-ignore-messages no-ignore-parent no-ignore-vcs N,no-line-number \
         no-messages no-pcre2-unicode no-require-git require-git no-unicode unicode pcre2-unicode 0,null null-data \
         one-file-system no-one-file-system o,only-matching passthru passthrough path-separator: P,pcre2 no-pcre2 pcre2-version \
         p,pretty q,quiet regex-size-limit: z,search-zip no-search-zip S,smart-case sort: sortr: sort-files no-sort-files stats \
         no-stats stop-on-nonmatch a,text no-text trim no-trim type-list type-add: type-clear: u,unrestricted V,version vimgrep \
         H,with-filename w,word-regexp trace generate:",
    ),
    program(
        &["fd", "fdfind"],
        (Exact, Complete),
        "x,exec+ X,exec-batch+ H,hidden no-hidden I,no-ignore ignore no-ignore-vcs ignore-vcs no-ignore-parent no-global-ignore-file \
         u,unrestricted s,case-sensitive i,ignore-case g,glob regex F,fixed-strings literal and: a,absolute-path relative-path \
         l,list-details L,follow dereference no-follow p,full-path 0,print0 d,max-depth,maxdepth: min-depth: exact-depth: E,exclude: \
         prune t,type: e,extension: S,size: changed-within,change-newer-than,newer,changed-after: \
         changed-before,change-older-than,older: o,owner: format: batch-size: ignore-file: c,color: hyperlink? j,threads: \
         max-buffer-time: max-results: 1 q,quiet,has-results show-errors C,base-directory: path-separator: search-path: \
         strip-cwd-prefix? one-file-system,mount,xdev gen-completions? h,help V,version no-require-git require-git ignore-contain:",
    ),
    program(
        &["ag"],
        (Gnu, Complete),
        "pager:=run nopager no-pager ackmate noackmate A,after? B,before? c,count color nocolor no-color color-line-number: \
         color-match: color-path: break nobreak no-break group nogroup no-group heading noheading no-heading column nocolumn \
         no-column filename nofilename no-filename H h C,context? g,filename-pattern: l,files-with-matches \
         L,files-without-matches line-numbers,numbers nonumbers no-numbers print-all-files o,only-matching print-long-lines \
         passthrough,passthru silent stats stats-only vimgrep 0,null,print0 a,all-types D,debug depth: f,follow nofollow no-follow \
         F,fixed-strings G,file-search-regex: hidden i,ignore-case ignore: ignore-dir: m,max-count: one-device n,norecurse \
         recurse,R,r p,path-to-ignore: path-to-agignore: Q,literal s,case-sensitive S,smart-case search-binary search-files \
         search-zip,z t,all-text u,unrestricted U,skip-vcs-ignores v,invert-match w,word-regexp W,width: workers: list-file-types \
         help version affinity multiline no-multiline",
    ),
    program(
        &["ack"],
        (Gnu, Partial),
        "pager:=run nopager ackrc:=file output:=ask create-ackrc dump no-env noenv ignore-ack-defaults f g l,files-with-matches \
         L,files-without-matches c,count i,ignore-case S,smart-case I,no-ignore-case v,invert-match w,word-regexp Q,literal \
         range-start: range-end: match: o passthru m,max-count: 1 H,with-filename h,no-filename A,after-context: \
         B,before-context: C,context? print0 s,0 filename nofilename column nocolumn group nogroup heading noheading break nobreak \
         p,proximate? P color colour nocolor nocolour color-filename: color-match: color-colno: color-lineno: flush follow nofollow \
         sort-files show-types files-from: x ignore-file: ignore-dir,ignore-directory: noignore-dir: r,R,recurse n,no-recurse \
         t,type: T: k,known-types help-types type-set: type-add: type-del: version help man not: and: or: u python py rust js ts cc cpp \
         hh go java ruby perl php html css json yaml toml xml shell make lua sql",
    ),
    program(
        &["less"],
        (Gnu, Complete),
        "k,lesskey-file:=ask lesskey-src:=ask lesskey-content:=ask o,log-file:=write O,LOG-FILE:=write p,pattern: t,tag: \
         T,tag-file:=file x tabs: y max-forw-scroll: z window: b buffers: h max-back-scroll: j jump-target: P,prompt: D,color: \
         rscroll: # shift: ?,help a,search-skip-screen A,SEARCH-SKIP-SCREEN B,auto-buffers c,clear-screen C,CLEAR-SCREEN d,dumb \
         e,quit-at-eof E,QUIT-AT-EOF f,force F,quit-if-one-screen g,hilite-search G,HILITE-SEARCH i,ignore-case I,IGNORE-CASE \
         J,status-column K,quit-on-intr L,no-lessopen m,long-prompt M,LONG-PROMPT n,line-numbers N,LINE-NUMBERS q,quiet,silent \
         Q,QUIET,SILENT r,raw-control-chars R,RAW-CONTROL-CHARS s,squeeze-blank-lines S,chop-long-lines u,underline-special \
         U,UNDERLINE-SPECIAL V,version w,hilite-unread W,HILITE-UNREAD X,no-init quotes: ~,tilde file-size follow-name incsearch \
         line-num-width: mouse MOUSE no-keypad no-histdups save-marks=write status-col-width: use-backslash use-color wheel-lines: \
         header: search-options: modelines: intr: no-poll no-number-headers no-search-headers no-search-header-lines \
         no-search-header-columns redraw-on-quit exit-follow-on-close form-feed status-line proc-backspace PROC-BACKSPACE \
         proc-return PROC-RETURN proc-tab PROC-TAB match-shift: show-preproc-errors no-vbell autosave:=write end-prompt: \
         cmd:=ask - . 0 1 2 3 4 5 6 7 8 9",
    ),
    program(&["more"], (Gnu, Complete), "d,silent f,logical l,no-pause c,print-over p,clean-print e,exit-on-eof s,squeeze u,plain n,lines: h,help V,version 0 1 2 3 4 5 6 7 8 9"),
    // Its prompt becomes options of the pager, and what it formats may name preprocessors.
    program(
        &["man"],
        (Gnu, Complete),
        "P,pager:=run r,prompt:=ask H,html?=run X,gxditview?=ask B,browser:=run C,config-file:=file l,local-file=file p,preprocessor:=ask \
         M,manpath:=file m,systems: L,locale: S,s,sections: e,extension: E,encoding: R,recode: T,troff-device? t,troff Z,ditroff \
         d,debug D,default warnings? f,whatis k,apropos K,global-apropos w,where,path,location W,where-cat,location-cat \
         c,catman i,ignore-case I,match-case regex wildcard names-only a,all u,update no-subpages 7,ascii \
         no-hyphenation,nh no-justification,nj ?,help usage V,version h",
    ),
    program(
        &["nano", "rnano"],
        (Gnu, Partial),
        "s,speller:=run f,rcfile:=file C,backupdir:=write G,locking=write P,positionlog=write H,historylog=write B,backup A,smarthome \
         D,boldtext E,tabstospaces F,multibuffer I,ignorercfiles J,guidestripe: K,rawsequences L,nonewlines M,trimblanks N,noconvert \
         O,bookstyle Q,quotestr: R,restricted S,softwrap T,tabsize: U,quickblank V,version W,wordbounds X,wordchars: Y,syntax: a,atblanks \
         b,breaklonglines c,constantshow d,rebinddelete e,emptyline g,showcursor h,help i,autoindent j,jumpyscrolling k,cutfromcursor \
         l,linenumbers m,mouse n,noread o,operatingdir: p,preserve q,indicator r,fill: t,saveonexit=write u,unix v,view w,nowrap \
         x,nohelp y,afterends z,suspendable zero minibar stateflags !,magic %",
    ),
    program(
        &["groff", "troff", "nroff", "pic", "gpic"],
        (Exact, Partial),
        "U=ask P:=ask l=ask V L:=ask X=ask F:=file M:=file K: D: I: T: W: m: n: o: r: w: d: f: a b c e g h i j k p s t v z C E G J N R S Z",
    ),
    program(
        &["xmllint"],
        (Dash, Partial),
        "output:=write o:=write shell=ask xpath: schema: relaxng: schematron: dtdvalid: dtdvalidfpi: encode: path: pattern: maxmem: \
         noout format pretty: c14n c14n11 exc-c14n noent nonet noenc nocdata noblanks nowarning valid dropdtd html xmlout recover \
         huge stream push memory timing nsclean noxxe quiet version debug copy postvalid catalogs nocatalogs loaddtd dtdattr \
         insert compress xinclude nodefdtd noxincludenode nofixup-base-uris load-trace sax sax1 testIO oldxml10 repeat auto walker nodict",
    ),
    program(&["dc"], (Gnu, Complete), "e,expression:=text f,file:=file h,help V,version i,interactive x,extended-register P,no-prompt"),
    program(
        &["find", "gfind", "bfs"],
        (Dash, Partial),
        "delete=write fprint:=write fprint0:=write fprintf:=write fls:=write exec+ execdir+ ok+ okdir+ name: iname: path: ipath: \
         regex: iregex: wholename: iwholename: lname: ilname: type: xtype: newer* newer: anewer: cnewer: size: mtime: mmin: atime: \
         amin: ctime: cmin: maxdepth: mindepth: user: group: uid: gid: perm: printf: inum: links: samefile: used: fstype: context: \
         regextype: files0-from: f: o a or and not print print0 ls prune quit depth d mount xdev x follow empty true false \
         readable writable executable nouser nogroup daystart noleaf nowarn warn ignore_readdir_race noignore_readdir_race H L P O* \
         D: E s X help version unique hidden nohidden color nocolor Btime: Bmin: flags: sparse acl xattr exclude status",
    ),
];
