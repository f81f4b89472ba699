//! The request of an HTTP client: a tunnel (`CONNECT host:port`) or a request to pass on (`GET http://host/path`).

use super::body::{BadBody, Body};
use super::head::{BadHead, Head, HeadLimits, is_token};
use crate::host::{BadHost, Target};

/// A parsed request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// `CONNECT`: bytes both ways.
    Tunnel(ParsedTarget),
    /// One request, and its answer.
    Pass(Box<Passed>),
}

/// A target, and the host as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParsedTarget {
    pub(crate) target: Target,
    pub(crate) host: String,
}

/// A request as the far side gets it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) asked: ParsedTarget,
    pub(crate) head: Vec<u8>,
    pub(crate) body: Body,
    pub(crate) answer: AnswerBody,
}

/// Whether the proxy's own answers may have a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerBody {
    Shown,
    /// A `HEAD` request wants none.
    Left,
}

/// The faults of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadRequest {
    #[error(transparent)]
    Head(#[from] BadHead),
    #[error(transparent)]
    Body(#[from] BadBody),
    #[error("the first line is not a method, a target and a version")]
    FirstLine,
    #[error("the version is not HTTP/1.1 or HTTP/1.0")]
    Version,
    #[error("the target is not one for a proxy: `http://host/path`, or `host:port` with CONNECT")]
    Form,
    #[error("https is reached with CONNECT, not through a request for an https URL")]
    Scheme,
    #[error("the target is wrong: {0}")]
    Host(#[from] BadHost),
    #[error("the Host field is missing, there twice, or names another host than the target")]
    OtherHost,
}

impl Request {
    /// Reads a whole head.
    pub(crate) fn parse(bytes: &[u8], limits: HeadLimits) -> Result<Self, BadRequest> {
        let head = Head::parse(bytes, limits)?;
        let line = Line::parse(head.first)?;
        if line.method == "CONNECT" {
            return Ok(Self::Tunnel(ParsedTarget::parse(line.target, None)?));
        }
        let (authority, path) = split_url(line.target)?;
        let asked = ParsedTarget::parse(authority, Some(80))?;
        check_host(&head, &asked.target, line.version)?;
        let body = Body::of_request(&head)?;
        // Chunks came with HTTP/1.1. A 1.0 server would take them for the next request.
        if line.version == "HTTP/1.0" && matches!(body, Body::Chunked(_)) {
            return Err(BadBody::Encoding.into());
        }
        let answer = if line.method == "HEAD" { AnswerBody::Left } else { AnswerBody::Shown };
        let head = rewrite(&head, &line, (authority, path));
        Ok(Self::Pass(Box::new(Passed { asked, head, body, answer })))
    }
}

impl ParsedTarget {
    pub(crate) fn parse(text: &str, usual_port: Option<u16>) -> Result<Self, BadHost> {
        let target = Target::parse(text, usual_port)?;
        let (host, _) = crate::host::split(text)?;
        Ok(Self { target, host: host.to_owned() })
    }
}

struct Line<'a> {
    method: &'a str,
    target: &'a str,
    version: &'a str,
}

impl<'a> Line<'a> {
    fn parse(first: &'a [u8]) -> Result<Self, BadRequest> {
        let first = std::str::from_utf8(first).map_err(|_| BadRequest::FirstLine)?;
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(BadRequest::FirstLine);
        };
        if method.is_empty() || !method.bytes().all(is_token) || target.is_empty() || target.contains('\t') {
            return Err(BadRequest::FirstLine);
        }
        if !["HTTP/1.1", "HTTP/1.0"].contains(&version) {
            return Err(BadRequest::Version);
        }
        Ok(Self { method, target, version })
    }
}

/// The host with its port, and the rest, of an `http` URL.
fn split_url(target: &str) -> Result<(&str, &str), BadRequest> {
    let (scheme, rest) = target.split_once("://").ok_or(BadRequest::Form)?;
    if scheme.eq_ignore_ascii_case("https") {
        return Err(BadRequest::Scheme);
    }
    // A fragment stays with the client; where one is sent, programs disagree about where the host ends.
    if !scheme.eq_ignore_ascii_case("http") || rest.contains('#') {
        return Err(BadRequest::Form);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    Ok(rest.split_at(end))
}

/// A server selects the site by the Host field, so it must be the host that was judged.
fn check_host(head: &Head<'_>, target: &Target, version: &str) -> Result<(), BadRequest> {
    let mut hosts = head.values("host");
    let agrees = match (hosts.next(), hosts.next()) {
        (None, _) => version == "HTTP/1.0",
        (Some(host), None) => {
            let host = std::str::from_utf8(host).ok().and_then(|host| Target::parse(host, Some(80)).ok());
            host.as_ref() == Some(target)
        }
        (Some(_), Some(_)) => false,
    };
    if agrees { Ok(()) } else { Err(BadRequest::OtherHost) }
}

/// The head for the far side. It is asked to close, so that the next request comes to the proxy again and is judged
/// again. There is no `Via`: the far side need not know that a command is confined.
fn rewrite(head: &Head<'_>, line: &Line<'_>, (authority, path): (&str, &str)) -> Vec<u8> {
    let path = match path {
        "" if line.method == "OPTIONS" => "*".to_owned(),
        path if path.starts_with('/') => path.to_owned(),
        query => format!("/{query}"),
    };
    let mut written =
        format!("{} {path} {}\r\nHost: {authority}\r\n", line.method, line.version).into_bytes();
    for field in head.end_to_end().filter(|field| !field.is("host")) {
        field.write(&mut written);
    }
    written.extend_from_slice(b"Connection: close\r\n\r\n");
    written
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: HeadLimits = HeadLimits { bytes: 4096, fields: 16 };

    fn parse(lines: &str) -> Result<Request, BadRequest> {
        Request::parse(format!("{}\r\n\r\n", lines.replace('\n', "\r\n")).as_bytes(), LIMITS)
    }

    fn check_tunnel(target: &str, expected: Result<&str, BadRequest>) {
        let asked = match parse(&format!("CONNECT {target} HTTP/1.1\nHost: whatever")) {
            Ok(Request::Tunnel(asked)) => Ok(asked.target.to_string()),
            Ok(Request::Pass(_)) => panic!("{target} is no request to pass on"),
            Err(error) => Err(error),
        };
        assert_eq!(asked, expected.map(str::to_owned));
    }

    #[test]
    fn tunnels_are_asked_for_by_host_and_port() {
        check_tunnel("example.com:443", Ok("example.com:443"));
        check_tunnel("[::1]:443", Ok("[::1]:443"));
        check_tunnel("example.com", Err(BadHost::Port.into()));
        check_tunnel("http://example.com:443", Err(BadHost::Character(':').into()));
        check_tunnel("user@example.com:443", Err(BadHost::Character('@').into()));
        check_tunnel("example.com:443/", Err(BadHost::Port.into()));
    }

    fn check_pass(request: &str, expected: &str) {
        let Ok(Request::Pass(passed)) = parse(request) else { panic!("{request}: {:?}", parse(request)) };
        assert_eq!(
            String::from_utf8_lossy(&passed.head),
            format!("{}\r\n\r\n", expected.replace('\n', "\r\n"))
        );
    }

    #[test]
    fn a_request_is_rewritten_for_the_far_side() {
        check_pass(
            "GET http://Example.com/a?b HTTP/1.1\nHost: example.com:80\nAccept: */*",
            "GET /a?b HTTP/1.1\nHost: Example.com\nAccept: */*\nConnection: close",
        );
        check_pass(
            "GET http://a.test:8080 HTTP/1.1\nHost: a.test:8080",
            "GET / HTTP/1.1\nHost: a.test:8080\nConnection: close",
        );
        check_pass("GET HTTP://a.test?q HTTP/1.0", "GET /?q HTTP/1.0\nHost: a.test\nConnection: close");
        check_pass(
            "OPTIONS http://a.test HTTP/1.1\nHost: a.test",
            "OPTIONS * HTTP/1.1\nHost: a.test\nConnection: close",
        );
        check_pass(
            "POST http://a.test/ HTTP/1.1\nHost: a.test\nConnection: keep-alive, x-hop\nX-Hop: 1\nKeep-Alive: 9\n\
             Proxy-Connection: keep-alive\nProxy-Authorization: secret\nTE: trailers\nUpgrade: h2c\nContent-Length: 3",
            "POST / HTTP/1.1\nHost: a.test\nContent-Length: 3\nConnection: close",
        );
    }

    fn check_bad(request: &str, expected: BadRequest) {
        assert_eq!(parse(request), Err(expected), "{request}");
    }

    #[test]
    fn requests_that_are_not_for_a_proxy_are_refused() {
        check_bad("GET / HTTP/1.1\nHost: a.test", BadRequest::Form);
        check_bad("OPTIONS * HTTP/1.1\nHost: a.test", BadRequest::Form);
        check_bad("GET ftp://a.test/ HTTP/1.1\nHost: a.test", BadRequest::Form);
        check_bad("GET https://a.test/ HTTP/1.1\nHost: a.test", BadRequest::Scheme);
        check_bad("GET http://a.test/#x HTTP/1.1\nHost: a.test", BadRequest::Form);
        check_bad("PRI * HTTP/2.0", BadRequest::Version);
        check_bad("GET http://a.test/", BadRequest::FirstLine);
        check_bad("GET http://a.test/ x HTTP/1.1", BadRequest::FirstLine);
        check_bad("GET  HTTP/1.1", BadRequest::FirstLine);
        check_bad("G@T http://a.test/ HTTP/1.1", BadRequest::FirstLine);
    }

    #[test]
    fn requests_that_two_programs_would_send_to_two_hosts_are_refused() {
        check_bad("GET http://a.test/ HTTP/1.1\nHost: b.test", BadRequest::OtherHost);
        check_bad("GET http://a.test/ HTTP/1.1\nHost: a.test:81", BadRequest::OtherHost);
        check_bad("GET http://a.test/ HTTP/1.1", BadRequest::OtherHost);
        check_bad("GET http://a.test/ HTTP/1.1\nHost: a.test\nHost: a.test", BadRequest::OtherHost);
        check_bad("GET http://a.test/ HTTP/1.1\nHost:", BadRequest::OtherHost);
        check_bad("GET http://b@a.test/ HTTP/1.1\nHost: a.test", BadHost::Character('@').into());
        check_bad("GET http://a.test\\@b/ HTTP/1.1\nHost: a.test", BadHost::Character('\\').into());
        check_bad("GET http:///a.test HTTP/1.1\nHost: a.test", BadHost::Empty.into());
        check_bad("POST http://a.test/ HTTP/1.0\nTransfer-Encoding: chunked", BadBody::Encoding.into());
    }

    proptest! {
        #[test]
        fn what_is_passed_on_is_a_head_with_one_host(
            target in "http://[a-z.:@\\[\\]/?#%]{0,12}",
            fields in proptest::collection::vec("(Host|Connection|X|Content-Length|TE): [a-z0-9., ]{0,6}", 0..5),
        ) {
            if let Ok(Request::Pass(passed)) = parse(&format!("GET {target} HTTP/1.1\n{}", fields.join("\n"))) {
                let head = Head::parse(&passed.head, LIMITS).expect("a head");
                prop_assert_eq!(head.values("host").count(), 1);
                prop_assert_eq!(head.values("connection").collect::<Vec<_>>(), vec![&b"close"[..]]);
            }
        }
    }
}
