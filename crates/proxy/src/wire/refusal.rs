//! Refusals: an answer in the client's protocol, with a reason in words and the entry that would allow the target.
//!
//! The reason also stands in the status line, because that is all that many programs show of an answer to `CONNECT`.

use super::head::BadHead;
use super::request::{AnswerBody, BadRequest};
use crate::allow::Unlisted;
use crate::decision::DenyReason;
use crate::host::{Host, Target};

/// An answer that the proxy itself gives, in HTTP.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ErrorReply {
    status: u16,
    line: String,
    text: String,
}

impl ErrorReply {
    /// For a target that is not reached.
    pub(crate) fn refused(target: &Target, refusal: &DenyReason) -> Self {
        let status = match refusal {
            DenyReason::Unlisted(_) => 403,
            DenyReason::NoAddress | DenyReason::LookupFailed(_) => 502,
            DenyReason::LookupTimedOut => 504,
        };
        let line = format!("{target} was refused: {refusal}");
        let text = format!("windlass: the connection to {line}.\n{}", advice(target, refusal));
        Self { status, line, text }
    }

    /// For a target that may be reached and does not answer.
    pub(crate) fn unreachable(target: &Target, why: &str) -> Self {
        Self::plain(502, &format!("{target} is allowed, and cannot be reached: {why}"))
    }

    /// For a far side whose answer is not valid HTTP.
    pub(crate) fn bad_answer(error: BadHead) -> Self {
        Self::plain(502, &format!("the answer of the far side is no HTTP: {error}"))
    }

    /// For a request that cannot be understood.
    pub(crate) fn bad_request(error: BadRequest) -> Self {
        let status = match error {
            BadRequest::Head(BadHead::TooLong(_) | BadHead::TooManyFields(_)) => 431,
            BadRequest::Scheme | BadRequest::Body(super::body::BadBody::Encoding) => 501,
            BadRequest::Version => 505,
            _ => 400,
        };
        Self::plain(status, &error.to_string())
    }

    /// For a client that never comes to the end of its request.
    pub(crate) fn too_slow() -> Self {
        Self::plain(408, "the request did not come to its end in time")
    }

    fn plain(status: u16, line: &str) -> Self {
        Self { status, line: line.to_owned(), text: format!("windlass: {line}.\n") }
    }

    /// The answer as bytes.
    pub(crate) fn message(&self, body: AnswerBody) -> Vec<u8> {
        let Self { status, line, text } = self;
        let line: String =
            line.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
        let length = text.len();
        let head = format!(
            "HTTP/1.1 {status} {line}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n"
        );
        match body {
            AnswerBody::Shown => (head + text).into_bytes(),
            AnswerBody::Left => head.into_bytes(),
        }
    }
}

/// The entry that would have to be listed.
fn advice(target: &Target, refusal: &DenyReason) -> String {
    let DenyReason::Unlisted(unlisted) = refusal else { return String::new() };
    let list =
        |entry: &str| format!("To allow it, list `{entry}` among the hosts that this command may reach.\n");
    match unlisted {
        Unlisted::Inward { zone, .. } if zone.is_never_reached() => String::new(),
        Unlisted::Inward { address, zone, .. } => {
            let address = Target { host: Host::of(*address), port: target.port };
            let private = format!(", or `{target}+private`");
            let or = if zone.is_of_people() { private.as_str() } else { "" };
            format!("To allow it, list `{address}`{or} among what this command may reach.\n")
        }
        Unlisted::Host if matches!(target.port, 80 | 443) && matches!(target.host, Host::Name(_)) => {
            list(&target.host.to_string())
        }
        Unlisted::Host | Unlisted::Port { .. } => list(&target.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allow::AllowList;

    /// Checks the entry that a refusal by this list advises, and that listing it helps.
    fn check(entries: &[&str], (asked, address): (&str, &str), advised: &str) {
        let target = Target::parse(asked, None).expect("a target");
        let address = address.parse().expect("an address");
        let list = AllowList::parse(entries).expect("a list");
        let refusal = DenyReason::Unlisted(list.leads(&target, address).expect_err("refused"));
        let text = ErrorReply::refused(&target, &refusal).text;
        assert!(text.contains(asked), "{text}");
        assert!(text.contains(&format!("`{advised}`")), "{advised} in {text}");
        let more = AllowList::parse(entries.iter().chain([&advised])).expect("the advice can be listed");
        assert!(more.leads(&target, address).is_ok(), "{advised} helps");
    }

    #[test]
    fn the_advice_helps() {
        check(&[], ("a.test:443", "1.1.1.1"), "a.test");
        check(&[], ("a.test:22", "1.1.1.1"), "a.test:22");
        check(&["a.test"], ("a.test:22", "1.1.1.1"), "a.test:22");
        check(&[], ("127.0.0.1:80", "127.0.0.1"), "127.0.0.1:80");
        check(&[], ("[::1]:5432", "::1"), "[::1]:5432");
        check(&["a.test"], ("a.test:443", "10.0.0.1"), "10.0.0.1:443");
        check(&["a.test"], ("a.test:443", "10.0.0.1"), "a.test:443+private");
        check(&["a.test"], ("a.test:80", "169.254.169.254"), "169.254.169.254:80");
    }

    #[test]
    fn an_answer_is_one_line_of_status_whatever_was_asked() {
        let target = Target::parse("bücher.test:443", None).expect("a target");
        let answer =
            ErrorReply::refused(&target, &DenyReason::Unlisted(Unlisted::Host)).message(AnswerBody::Shown);
        let answer = String::from_utf8(answer).expect("text");
        let status =
            "HTTP/1.1 403 b?cher.test:443 was refused: no entry of the allow-list covers this host\r\n";
        assert!(answer.starts_with(status), "{answer}");
        assert!(
            answer
                .ends_with("To allow it, list `bücher.test` among the hosts that this command may reach.\n")
        );
    }
}
