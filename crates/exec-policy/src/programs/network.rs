//! Tables of tools that speak to other machines, and of those that look at the network or at logs.

use super::Coverage::{Complete, Partial};
use super::Style::{Dash, Exact, Git, Gnu};
use super::{Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["curl"],
        (Git, Complete),
        "o,output:=write O,remote-name=write remote-name-all=write K,config:=file c,cookie-jar:=write D,dump-header:=write \
         trace:=write trace-ascii:=write stderr:=write libcurl:=write etag-save:=write hsts:=write alt-svc:=write \
         ssl-sessions:=write T,upload-file:=write w,write-out:=text engine:=ask output-dir:=write expand-output:=write \
         expand-config:=file expand-*:=write knownhosts: A,user-agent: b,cookie: C,continue-at: d,data: e,referer: E,cert: F,form: \
         H,header: m,max-time: P,ftp-port: Q,quote:=write r,range: t,telnet-option: u,user: U,proxy-user: x,proxy: X,request: \
         y,speed-time: Y,speed-limit: z,time-cond: url: url-query: f,fail s,silent S,show-error L,location k,insecure \
         abstract-unix-socket: anyauth a,append aws-sigv4: basic ca-native cacert: capath: cert-status cert-type: ciphers: compressed \
         compressed-ssh connect-timeout: connect-to: create-dirs create-file-mode: crlf crlfile: curves: data-ascii: data-binary: \
         data-raw: data-urlencode: delegation: digest q,disable disable-eprt disable-epsv disallow-username-in-url dns-interface: \
         dns-ipv4-addr: dns-ipv6-addr: dns-servers: doh-cert-status doh-insecure doh-url: dump-ca-embed ech: egd-file: etag-compare: \
         expect100-timeout: fail-early fail-with-body false-start follow form-escape form-string: ftp-account: \
         ftp-alternative-to-user: ftp-create-dirs ftp-method: ftp-pasv ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-ccc-mode: \
         ftp-ssl-control G,get g,globoff happy-eyeballs-timeout-ms: haproxy-clientip: haproxy-protocol I,head h,help hostpubmd5: \
         hostpubsha256: http0.9 0,http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only ignore-content-length \
         i,include,show-headers interface: 4,ipv4 6,ipv6 json: j,junk-session-cookies ip-tos: ipfs-gateway: keepalive-cnt: \
         keepalive-time: key: key-type: krb: limit-rate: l,list-only local-port: location-trusted login-options: mail-auth: \
         mail-from: mail-rcpt: mail-rcpt-allowfails M,manual max-filesize: max-redirs: metalink mptcp negotiate n,netrc netrc-file: \
         netrc-optional :,next no-alpn N,no-buffer no-clobber no-keepalive no-npn no-progress-meter no-sessionid no-fail \
         no-location no-silent no-verbose no-compressed no-insecure no-include noproxy: ntlm ntlm-wb oauth2-bearer: \
         out-null Z,parallel parallel-immediate parallel-max: parallel-max-host: pass: path-as-is pinnedpubkey: post301 post302 \
         post303 preproxy: #,progress-bar proto: proto-default: proto-redir: proxy-anyauth proxy-basic proxy-ca-native proxy-cacert: \
         proxy-capath: proxy-cert: proxy-cert-type: proxy-ciphers: proxy-crlfile: proxy-digest proxy-header: proxy-http2 \
         proxy-insecure proxy-key: proxy-key-type: proxy-negotiate proxy-ntlm proxy-pass: proxy-pinnedpubkey: proxy-service-name: \
         proxy-ssl-allow-beast proxy-ssl-auto-client-cert proxy-tls13-ciphers: proxy-tlsauthtype: proxy-tlspassword: proxy-tlsuser: \
         proxy-tlsv1 proxy1.0: p,proxytunnel pubkey: random-file: rate: raw J,remote-header-name=write R,remote-time \
         remove-on-error request-target: resolve: retry: retry-all-errors retry-connrefused retry-delay: retry-max-time: \
         sasl-authzid: sasl-ir service-name: sigalgs: skip-existing socks4: socks4a: socks5: socks5-basic socks5-gssapi \
         socks5-gssapi-nec socks5-gssapi-service: socks5-hostname: ssl ssl-allow-beast ssl-auto-client-cert ssl-no-revoke ssl-reqd \
         ssl-revoke-best-effort 2,sslv2 3,sslv3 styled-output no-styled-output suppress-connect-headers tcp-fastopen tcp-nodelay \
         tftp-blksize: tftp-no-options tls-earlydata tls-max: tls13-ciphers: tlsauthtype: tlspassword: tlsuser: 1,tlsv1 tlsv1.0 \
         tlsv1.1 tlsv1.2 tlsv1.3 tr-encoding trace-config: trace-ids trace-time unix-socket: upload-flags: B,use-ascii v,verbose \
         V,version variable: vlan-priority: xattr=write",
    ),
    program(
        &["wget", "wget2"],
        (Gnu, Complete),
        "O,output-document:=write o,output-file:=write a,append-output:=write e,execute:=text use-askpass:=run config:=file \
         save-cookies:=write hsts-file:=write warc-file:=write warc-dedup: warc-tempdir:=write rejected-log:=write \
         P,directory-prefix:=write i,input-file:=file V,version h,help b,background d,debug q,quiet v,verbose nv no-verbose \
         report-speed: F,force-html B,base: no-config t,tries: retry-connrefused retry-on-http-error: nc no-clobber no-netrc \
         c,continue start-pos: progress: show-progress N,timestamping no-if-modified-since no-use-server-timestamps \
         S,server-response spider T,timeout: dns-timeout: connect-timeout: read-timeout: w,wait: waitretry: random-wait no-proxy \
         Q,quota: bind-address: limit-rate: no-dns-cache restrict-file-names: ignore-case 4,inet4-only 6,inet6-only prefer-family: \
         user: password: ask-password no-iri local-encoding: remote-encoding: unlink xattr n no-directories x,force-directories \
         no-host-directories protocol-directories cut-dirs: http-user: http-password,http-passwd: no-cache default-page: \
         E,adjust-extension,html-extension ignore-length header: compression: max-redirect: proxy-user: proxy-password: referer: \
         save-headers U,user-agent: no-http-keep-alive no-cookies load-cookies: keep-session-cookies post-data: post-file: method: \
         body-data: body-file: content-disposition content-on-error auth-no-challenge secure-protocol: https-only \
         no-check-certificate certificate: certificate-type: private-key: private-key-type: ca-certificate: ca-directory: crl-file: \
         pinnedpubkey: ciphers: no-hsts ftp-user: ftp-password: no-remove-listing no-glob no-passive-ftp preserve-permissions \
         retr-symlinks ftps-implicit ftps-resume-ssl ftps-clear-data-connection ftps-fallback-to-ftp warc-header: warc-max-size: \
         warc-cdx no-warc-compression no-warc-digests no-warc-keep-log r,recursive l,level: delete-after k,convert-links \
         convert-file-only backups? K,backup-converted m,mirror p,page-requisites strict-comments A,accept: R,reject: accept-regex: \
         reject-regex: regex-type: D,domains: exclude-domains: follow-ftp follow-tags: ignore-tags: H,span-hosts L,relative \
         I,include-directories: trust-server-names X,exclude-directories: np no-parent no-proxy* nd nH",
    ),
    program(
        &["rsync"],
        (Exact, Complete),
        "e,rsh:=run rsync-path:=run M,remote-option:=ask early-exec:=run early-input:=file daemon=ask config:=file dparam:=ask \
         log-file:=write write-batch:=write only-write-batch:=write read-batch:=write v,verbose info: debug: stderr: q,quiet no-motd \
         c,checksum a,archive no-* r,recursive inc-recursive,i-r R,relative b,backup backup-dir:=write suffix: u,update inplace \
         append append-verify d,dirs old-dirs old-d mkpath l,links L,copy-links copy-unsafe-links safe-links insecure-links \
         confine-root: munge-links k,copy-dirlinks K,keep-dirlinks H,hard-links p,perms E,executability chmod: A,acls X,xattrs \
         o,owner g,group devices copy-devices write-devices specials drop-D D t,times U,atimes open-noatime N,crtimes \
         O,omit-dir-times J,omit-link-times super fake-super S,sparse preallocate n,dry-run W,whole-file checksum-choice,cc: \
         x,one-file-system B,block-size: existing ignore-non-existing ignore-existing remove-source-files delete,del delete-before \
         delete-during delete-delay delete-after delete-excluded ignore-missing-args delete-missing-args ignore-errors force \
         max-delete: max-size: min-size: max-alloc: partial partial-dir: delay-updates m,prune-empty-dirs numeric-ids usermap: \
         groupmap: chown: timeout: contimeout: I,ignore-times size-only @,modify-window: T,temp-dir: y,fuzzy compare-dest: \
         copy-dest: link-dest: z,compress compress-choice,zc: compress-level,zl: compress-threads: skip-compress: C,cvs-exclude \
         f,filter: F exclude: exclude-from: include: include-from: files-from: 0,from0 old-args s,secluded-args,protect-args \
         trust-sender copy-as: address: port: sockopts: blocking-io outbuf: stats 8,8-bit-output h,human-readable progress P \
         i,itemize-changes out-format,log-format: log-file-format: password-file: list-only bwlimit: stop-after,time-limit: \
         stop-at: fsync protocol: iconv: checksum-seed: 4,ipv4 6,ipv6 V,version help",
    ),
    program(
        &["scp"],
        (Exact, Complete),
        "3 4 6 A B C O p q R r s T v D:=run F:=file i: J: l: P: c: o:=text S:=run X:",
    ),
    program(
        &["sftp"],
        (Exact, Complete),
        "1 2 4 6 A a B: b:=file C c: D:=run F:=file f i: J: l: N o:=text P: p q R: r S:=run s:=run V v X:",
    ),
    program(&["lftp"], (Exact, Complete), "c:=ask e:=ask f:=file norc rcfile:=file version help d u: p: s:"),
    program(
        &["nc", "ncat", "netcat", "nc.traditional", "nc.openbsd"],
        (Exact, Complete),
        "e,exec:=run c,sh-exec:=run lua-exec:=run o,output:=write x:=ask hex-dump:=write append-output p,source-port: w,wait: s,source: q: \
         i,idle-timeout: 4 6 b C,crlf D d,delay F h,help k,keep-open l,listen N n,nodns r S t,telnet U,unixsock u,udp v,verbose z Z: \
         I: M: m,max-conns: O: P: T: V: W: X: ssl version no-shutdown broker chat recv-only send-only sctp vsock allow: allowfile: \
         deny: denyfile: proxy: proxy-type: proxy-auth: proxy-dns: ssl-*: g: G:",
    ),
    program(
        &["socat"],
        (Dash, Complete),
        "r:=write R:=write lf:=write V h ? hh hhh d dd ddd dddd d0 d1 d2 d3 d4 D ly* ls lm* lp* lu lh v x s b* t* T* u U g S* \
         4 6 0 experimental statistics L*=write W*=write",
    ),
    program(
        &["tcpdump"],
        (Exact, Complete),
        "z,postrotate-command:=run w:=write r: V:=file i,interface: c: C: G: s,snapshot-length: W: F:=file Z,relinquish-privileges: \
         B,buffer-size: E: j,time-stamp-type: m: M: T: y,linktype: A b D,list-interfaces d e f h,help H I,monitor-mode J K l L n N \
         O,no-optimize p,no-promiscuous-mode q Q,direction: S,absolute-tcp-sequence-numbers t u U,packet-buffered v x X #,number \
         count print immediate-mode micro nano time-stamp-precision: version lengths skip:",
    ),
    program(
        &["nmap"],
        (Exact, Partial),
        "script:=ask script-args: script-args-file:=file datadir:=ask servicedb:=file versiondb:=file stylesheet: resume:=write \
         oN:=write oX:=write oG:=write oA:=write oS:=write p: iL: iR: n R 6 A F O v d r open reason top-ports: sS sT sU sV sn sP sL \
         sC=ask Pn PS? PA? T0 T1 T2 T3 T4 T5 T: exclude: excludefile: version h min-rate: max-rate: max-retries: host-timeout: \
         version-intensity: osscan-guess traceroute",
    ),
    program(
        &["openssl"],
        (Dash, Partial),
        "engine:=ask ssl_client_engine:=ask engine_impl=ask provider-path:=ask provider:=ask pre:=ask post:=ask t=ask config:=file \
         ssl_config:=file out:=write keyout:=write respout:=write reqout:=write outdir:=write writerand:=write msgfile:=write \
         keylogfile:=write sess_out:=write CAserial:=write CAcreateserial=write signer:=write outform: in: inform: key: keyform: \
         cert: certform: subj: noout text subject issuer dates startdate enddate fingerprint serial hash subject_hash issuer_hash \
         pubkey modulus purpose email nameopt: ext: checkend: checkhost: connect: host: port: servername: showcerts brief quiet \
         starttls: alpn: verify verify_return_error verify_hostname: CAfile: CApath: CAstore: no-CAfile no-CApath untrusted: \
         trusted: crl_check crl_check_all partial_chain tls1 tls1_1 tls1_2 tls1_3 cipher: ciphersuites: 4 6 status debug msg state \
         hex base64 binary r c d a e A v V s b m p f h help pass: passin: passout: nodes noenc pubin pubout pubcheck check salt nosalt pbkdf2 \
         iter: k: kfile: K: iv: S: md: sha1 sha224 sha256 sha384 sha512 sha3-256 md5 hmac: mac: macopt: sign prverify: signature: \
         aes-128-cbc aes-192-cbc aes-256-cbc aes-256-ecb aes-256-ctr strparse: offset: length: dump i bits: generate safe name: \
         list_curves param_enc: genparam algorithm: pkeyopt: aes256 des3 nocerts nokeys clcerts cacerts info print_certs 1 5  apr1 \
         crypt stdin table  reverse seconds: evp: multi: elapsed propquery: rand: ign_eof no_ign_eof crlf prexit nocommands \
         groups: curves: sigalgs: no_tls1 no_tls1_1 no_tls1_2 no_tls1_3 no_ssl3 stdname psk tlsextdebug trace commands \
         digest-commands cipher-commands digest-algorithms cipher-algorithms public-key-algorithms providers days:",
    )
    .subcommands(
        "version ciphers dgst x509 s_client s_time verify crl asn1parse rand prime speed passwd errstr help list info sess_id pkcs7 \
         pkcs8 pkey pkeyparam pkeyutl ec ecparam rsa dsa dhparam dsaparam genrsa genpkey mac kdf storeutl ocsp enc base64 md5 sha1 \
         sha256 sha384 sha512 nseq spkac",
    ),
    program(
        &["gpg", "gpg2", "gpgv"],
        (Gnu, Partial),
        "o,output:=write options:=file homedir:=file agent-program:=ask dirmngr-program:=ask photo-viewer:=ask exec-path:=ask \
         keyserver-options: load-extension:=ask log-file,logger-file:=write status-file:=write attribute-file:=write \
         command-file:=file command-fd:=ask temp-directory:=write use-embedded-filename=write trustdb-name:=write \
         gpgconf-test show-photos=ask s,sign b,detach-sign=write e,encrypt c,symmetric d,decrypt verify k,list-keys,list-key,list-public-keys \
         list-signatures list-sigs check-signatures check-sigs fingerprint K,list-secret-keys export search-keys show-keys,show-key \
         list-packets print-md print-mds list-config version help v,verbose q,quiet no-tty n,dry-run a,armor,armour r,recipient: \
         u,local-user: default-key: batch no-batch yes no with-colons with-fingerprint with-subkey-fingerprint with-keygrip keyid-format: \
         keyring: no-default-keyring status-fd: logger-fd: passphrase-fd: passphrase-file: passphrase: pinentry-mode: list-options: \
         verify-options: export-options: no-options no-auto-key-retrieve trust-model: always-trust card-status list-only locate-keys \
         with-secret with-sig-list fixed-list-mode keyserver:",
    ),
    program(
        &["ssh-keygen"],
        (Exact, Partial),
        "D:=ask w:=ask a: B b: C: c E: e F: f: g H h i I: K: k L l M: m: N: n: O: o P: p Q q R: r: s: t: U u V: v W: Y: y Z: z: A",
    ),
    program(
        &["ss"],
        (Gnu, Complete),
        "D,diag:=write K,kill=write h,help V,version n,numeric r,resolve a,all l,listening o,options e,extended m,memory p,processes \
         T,threads i,info tipcinfo s,summary tos cgroup b,bpf E,events Z,context z,contexts N,net: 4,ipv4 6,ipv6 0,packet t,tcp \
         M,mptcp S,sctp u,udp d,dccp w,raw x,unix tipc vsock xdp f,family: H,no-header O,oneline inet-sockopt A,query,socket: \
         F,filter: Q,no-queues B,bound-inactive bpf-maps bpf-map-id:",
    ),
    program(
        &["journalctl"],
        (Gnu, Complete),
        "cursor-file:=write vacuum-size:=write vacuum-files:=write vacuum-time:=write rotate=write sync=write flush=write \
         relinquish-var=write smart-relinquish-var=write update-catalog=write setup-keys=write force image: image-policy: system \
         user M,machine: m,merge D,directory: i,file: root: namespace: S,since: U,until: c,cursor: after-cursor: b,boot? u,unit: \
         user-unit: invocation: I t,identifier: T,exclude-identifier: p,priority: facility: g,grep: case-sensitive? k,dmesg \
         o,output: output-fields: n,lines? r,reverse show-cursor utc x,catalog no-hostname no-full l,full a,all f,follow no-tail \
         truncate-newline q,quiet no-pager e,pager-end interval: verify-key: h,help version N,fields F,field: list-boots \
         list-invocations list-namespaces disk-usage verify header list-catalog dump-catalog synchronize-on-exit: W \
         new-id128",
    ),
    program(
        &["lsof"],
        (Exact, Partial),
        "D:=write a b c: C d: e: E f: F? g? h H i? k: K? l L? m: M n N o O p: P R r? s? S? t T? u: U v V w x? X Z ? |",
    ),
];
