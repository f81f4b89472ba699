//! Tables of tools for media and downloads. They are there to write files; the tables mark what runs another program.

use super::Coverage::{Marked, Partial};
use super::Style::{Dash, Exact, Gnu};
use super::{Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["yt-dlp", "youtube-dl"],
        (Gnu, Partial),
        "exec:=run exec-before-download:=run downloader,external-downloader:=run downloader-args,external-downloader-args:=ask \
         netrc-cmd:=run plugin-dirs:=ask ffmpeg-location:=ask config-locations:=file js-runtimes:=ask o,output:=write P,paths:=write \
         print-to-file:=write cookies:=write cookies-from-browser: a,batch-file:=file alias:=ask use-postprocessor:=ask \
         postprocessor-args,ppa:=ask cache-dir:=write download-archive:=write load-info-json:=file U,update=write update-to:=write \
         F,list-formats f,format: s,simulate j,dump-json J,dump-single-json O,print: g,get-url e,get-title get-id get-duration \
         list-subs q,quiet v,verbose no-warnings i,ignore-errors no-playlist yes-playlist I,playlist-items: r,limit-rate: R,retries: \
         proxy: referer: add-headers: x,extract-audio audio-format: audio-quality: merge-output-format: no-progress h,help version \
         ignore-config flat-playlist skip-download write-info-json write-subs sub-langs: S,format-sort: c,continue w,no-overwrites \
         u,username: p,password: n,netrc newline progress",
    ),
    program(
        &["aria2c"],
        (Gnu, Partial),
        "on-bt-download-complete:=run on-download-complete:=run on-download-error:=run on-download-pause:=run on-download-start:=run \
         on-download-stop:=run conf-path:=file d,dir:=write o,out:=write i,input-file:=file l,log:=write save-session:=write \
         save-cookies:=write enable-rpc?=ask dht-file-path:=write server-stat-of:=write x,max-connection-per-server: s,split: \
         j,max-concurrent-downloads: c,continue? q,quiet? checksum: header: user-agent: referer: timeout: m,max-tries: S,show-files? \
         dry-run? h,help? v,version no-conf? console-log-level: summary-interval: k,min-split-size: file-allocation:",
    ),
    program(
        &["http", "https", "xh", "xhs"],
        (Exact, Marked),
        "o,output:=write d,download=write session:=write cert: verify:",
    ),
    program(
        &["ffmpeg", "ffprobe", "ffplay"],
        (Dash, Marked),
        "report=write passlogfile*=write vstats_file:=write progress:=write dump_attachment*=write sdp_file:=write o:=write \
         filter_script*=file filter_complex_script:=file",
    ),
    program(
        &["gs", "ghostscript"],
        (Dash, Partial),
        "o:=write o*=write sOutputFile:=write c=ask dNOSAFER*=ask dDELAYSAFER*=ask permit-*=ask I*=file sFONTPATH:=file d* s* r* g* q P- h help version",
    ),
    program(
        &[
            "convert",
            "magick",
            "identify",
            "mogrify",
            "montage",
            "composite",
            "compare",
            "display",
            "animate",
            "conjure",
            "stream",
        ],
        (Dash, Marked),
        "write:=write script:=ask format: define: path:=write",
    ),
    program(
        &["exiftool"],
        (Dash, Marked),
        "if*:=code if:=code config:=file @:=file o:=write w*=write p:=code execute*=ask tagsFromFile:=write delete_original*=write \
         overwrite_original*=write restore_original=write geotag:=write api: userParam:",
    ),
    program(
        &["ugrep", "ug"],
        (Gnu, Marked),
        "filter:=run pager?=run view?=run save-config?=write config?=file Q,query?=ask filter-magic-label:",
    ),
    program(&["peco"], (Exact, Marked), "exec:=run rcfile:=file"),
];
