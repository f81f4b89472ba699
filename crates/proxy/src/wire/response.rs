//! The head of the far side's answer, as the client gets it.

use super::head::{BadHead, Head, HeadLimits};

/// An answer's head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    pub(crate) head: Vec<u8>,
    pub(crate) kind: AnswerKind,
}

/// Whether another head follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// Such as `100 Continue`: the answer itself is still to come.
    Interim,
    /// The answer; its body follows.
    Final,
}

impl ResponseHead {
    /// Reads a whole head and says in it that the connection will be closed, whatever the far side promised.
    pub(crate) fn parse(bytes: &[u8], limits: HeadLimits) -> Result<Self, BadHead> {
        let head = Head::parse(bytes, limits)?;
        let kind = kind(head.first)?;
        let mut written = [head.first, b"\r\n"].concat();
        head.end_to_end().for_each(|field| field.write(&mut written));
        if kind == AnswerKind::Final {
            written.extend_from_slice(b"Connection: close\r\n");
        }
        written.extend_from_slice(b"\r\n");
        Ok(Self { head: written, kind })
    }
}

/// The kind of answer, by the number in `HTTP/1.1 200 OK`. The proxy asked for no other protocol, so the far side may
/// not switch to one.
fn kind(first: &[u8]) -> Result<AnswerKind, BadHead> {
    let rest = first.strip_prefix(b"HTTP/1.1 ").or_else(|| first.strip_prefix(b"HTTP/1.0 "));
    match rest.ok_or(BadHead::FirstLine)? {
        [b'1', b'0', b'1', ..] => Err(BadHead::FirstLine),
        [b'1', b'0'..=b'9', b'0'..=b'9'] | [b'1', b'0'..=b'9', b'0'..=b'9', b' ', ..] => {
            Ok(AnswerKind::Interim)
        }
        [b'2'..=b'9', b'0'..=b'9', b'0'..=b'9'] | [b'2'..=b'9', b'0'..=b'9', b'0'..=b'9', b' ', ..] => {
            Ok(AnswerKind::Final)
        }
        _ => Err(BadHead::FirstLine),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, expected: Result<(&str, AnswerKind), BadHead>) {
        let limits = HeadLimits { bytes: 1000, fields: 9 };
        let lines = |text: &str| format!("{}\r\n\r\n", text.replace('\n', "\r\n")).into_bytes();
        let expected = expected.map(|(head, kind)| ResponseHead { head: lines(head), kind });
        assert_eq!(ResponseHead::parse(&lines(head), limits), expected, "{head}");
    }

    #[test]
    fn an_answer_says_that_the_connection_will_be_closed() {
        check(
            "HTTP/1.1 200 OK\nConnection: keep-alive\nKeep-Alive: 5\nContent-Length: 3",
            Ok(("HTTP/1.1 200 OK\nContent-Length: 3\nConnection: close", AnswerKind::Final)),
        );
        check("HTTP/1.0 404", Ok(("HTTP/1.0 404\nConnection: close", AnswerKind::Final)));
        check("HTTP/1.1 100 Continue", Ok(("HTTP/1.1 100 Continue", AnswerKind::Interim)));
    }

    #[test]
    fn what_is_no_answer_is_found() {
        for bad in ["SSH-2.0-x", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/2 200", "HTTP/1.1 101 Switching"] {
            check(bad, Err(BadHead::FirstLine));
        }
    }
}
