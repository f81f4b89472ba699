//! Tables of the shells of databases. Each has a language of its own that can run commands and write files.

use super::Coverage::Complete;
use super::Style::{Dash, Exact, Gnu};
use super::{Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["sqlite3"],
        (Dash, Complete),
        "cmd:=text init:=file A*=write append=write ascii bail batch box column csv deserialize echo escape: header heap: help html \
         ifexists interactive json line list lookaside: markdown maxsize: memtrace mmap: newline: nofollow noheader nonce: \
         no-rowid-in-view nullvalue: pagecache: pcachetrace quote readonly safe separator: sorterref: stats table tabs \
         unsafe-testing=ask version vfs:=ask vfstrace zip",
    ),
    program(
        &["psql"],
        (Gnu, Complete),
        "c,command:=text f,file:=file o,output:=write L,log-file:=write d,dbname: h,host: p,port: U,username: P,pset:=text \
         F,field-separator: R,record-separator: T,table-attr: v,set,variable:=text l,list V,version X,no-psqlrc \
         1,single-transaction ?,help? a,echo-all b,echo-errors e,echo-queries E,echo-hidden n,no-readline q,quiet s,single-step \
         S,single-line A,no-align csv H,html t,tuples-only x,expanded z,field-separator-zero 0,record-separator-zero w,no-password \
         W,password",
    ),
    program(
        &["mysql", "mariadb"],
        (Gnu, Complete),
        "e,execute:=text init-command:=text init-command-add:=text tee:=write no-tee pager?=run no-pager plugin-dir:=ask \
         default-auth:=ask defaults-file:=file defaults-extra-file:=file defaults-group-suffix: login-path: print-defaults \
         no-defaults u,user: h,host: P,port: D,database: S,socket: p,password? ?,help I abort-source-on-error auto-rehash \
         A,no-auto-rehash auto-vertical-output B,batch binary-as-hex binary-mode character-sets-dir: column-names \
         N,skip-column-names column-type-info c,comments skip-comments C,compress connect-expired-password connect-timeout: \
         #,debug?=write debug-check T,debug-info default-character-set: delimiter: enable-cleartext-plugin f,force H,html \
         i,ignore-spaces line-numbers L,skip-line-numbers local-infile? max-allowed-packet: max-join-size: G,named-commands \
         net-buffer-length: b,no-beep o,one-database print-query-on-error progress-reports prompt: protocol: q,quick \
         quick-max-column-width: r,raw reconnect skip-reconnect U,safe-updates,i-am-a-dummy sandbox secure-auth select-limit: \
         server-arg: show-warnings sigint-ignore s,silent ssl? skip-ssl ssl-mode: ssl-ca: ssl-capath: ssl-cert: ssl-cipher: ssl-key: \
         ssl-crl: ssl-crlpath: tls-version: ssl-verify-server-cert? t,table n,unbuffered v,verbose V,version E,vertical w,wait X,xml",
    ),
    program(
        &["redis-cli", "valkey-cli"],
        (Exact, Complete),
        "rdb:=write functions-rdb:=write eval:=file pipe=ask h: p: s: a: user: pass: askpass u: r: i: n: 2 3 x X: d: D: c e tls sni: \
         cacert: cacertdir: insecure cert: key: tls-ciphers: tls-ciphersuites: raw no-raw quoted-input csv json quoted-json \
         show-pushes: stat latency latency-history latency-dist lru-test:=write replica pipe-timeout: bigkeys memkeys \
         memkeys-samples: hotkeys scan pattern: quoted-pattern: count: intrinsic-latency: ldb ldb-sync-mode cluster=ask verbose \
         no-auth-warning help version t: 4 6",
    )
    .subcommands(
        "ping echo info time dbsize get mget strlen exists type ttl pttl keys scan hget hgetall hmget hkeys hvals hlen hexists hscan \
         lrange llen lindex smembers scard sismember sscan zrange zcard zscore zrank zcount zscan xlen xrange xinfo object memory \
         lastsave role slowlog command help randomkey getrange bitcount config/get client/list client/info client/getname \
         PING ECHO INFO TIME DBSIZE GET MGET STRLEN EXISTS TYPE TTL PTTL KEYS SCAN HGET HGETALL HMGET HKEYS HVALS HLEN LRANGE LLEN \
         SMEMBERS SCARD ZRANGE ZCARD ZSCORE CONFIG/GET CLIENT/LIST",
    ),
];
