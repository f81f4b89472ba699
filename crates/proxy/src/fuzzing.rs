//! The invariants of the crate, checked with arbitrary bytes. The fuzz target and the ordinary tests run this same
//! body, which panics when an invariant is broken. Not part of the interface.

use crate::wire::head::{EndOfHead, Head, HeadLimits};
use crate::wire::request::Request;
use crate::wire::response::ResponseHead;
use crate::wire::socks::{self, MESSAGE_LIMIT};

/// Small, so that short inputs get beyond them.
const LIMITS: HeadLimits = HeadLimits { bytes: 512, fields: 8 };

/// A request means the same in one piece as in chunks; the forwarded request has one host, the one that was judged, and
/// means the same when it is parsed again; and parsing needs no more bytes than the limits allow.
pub fn request_any(data: &[u8]) {
    let Some((&seed, bytes)) = data.split_first() else { return };
    let whole = end_of_head(std::iter::once(bytes));
    assert_eq!(whole, end_of_head(bytes.chunks(usize::from(seed) % 31 + 1)));
    if bytes.len() >= LIMITS.bytes {
        assert!(whole != Ok(None), "a head that is too long is refused");
    }
    if let Ok(Some(length)) = whole {
        let _ = ResponseHead::parse(&bytes[..length], LIMITS);
        if let Ok(request) = Request::parse(&bytes[..length], LIMITS) {
            check(request, &bytes[length..]);
        }
    }
    check_socks(bytes);
}

fn end_of_head<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Result<Option<usize>, &'static str> {
    let mut end = EndOfHead::default();
    let mut all = Vec::new();
    for chunk in chunks {
        all.extend_from_slice(chunk);
        match end.find(&all, LIMITS) {
            Ok(None) => {}
            Ok(found) => return Ok(found),
            // Whether a line end or the length is found wrong first depends on the chunks.
            Err(_) => return Err("a bad head"),
        }
    }
    Ok(None)
}

fn check(request: Request, rest: &[u8]) {
    let Request::Pass(mut passed) = request else { return };
    let roomy = HeadLimits { bytes: LIMITS.bytes + 64, fields: LIMITS.fields + 2 };
    let head = Head::parse(&passed.head, roomy).expect("what is passed on is a head");
    let hosts: Vec<&[u8]> = head.values("host").collect();
    let [host] = hosts[..] else { panic!("there is one host: {hosts:?}") };
    let host = std::str::from_utf8(host).expect("a host is text");
    let target = crate::host::Target::parse(host, Some(80)).expect("a host is one");
    assert_eq!(target, passed.asked.target);
    let mut cut_up = passed.body.clone();
    let in_one = passed.body.take(rest);
    let in_pieces = rest.chunks(3).try_fold(0, |sum, piece| Ok(sum + cut_up.take(piece)?));
    assert_eq!(in_one, in_pieces);
}

fn check_socks(bytes: &[u8]) {
    for (length, message) in [
        (socks::greeting(bytes).ok().flatten(), "greeting"),
        (socks::request(bytes).ok().flatten().map(|(_, length)| length), "request"),
    ] {
        assert!(length.is_none_or(|length| length <= MESSAGE_LIMIT.min(bytes.len())), "{message}");
    }
}

#[cfg(test)]
mod tests {
    use windlass_testkit::bytes::Noise;

    use super::*;

    /// Pieces that random bytes alone would hardly ever form.
    const WORDS: &[&[u8]] = &[
        b"GET http://a.test/ HTTP/1.1\r\n",
        b"POST http://a.test:81 HTTP/1.1\r\n",
        b"CONNECT a.test:443 HTTP/1.1\r\n",
        b"Host: a.test\r\n",
        b"Host: a.test:81\r\n",
        b"Connection: host, x\r\n",
        b"Content-Length: 4\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"X: y\r\n",
        b"\r\n",
        b"\r",
        b"\n",
        b"4\r\nabcd\r\n",
        b"0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"\x05\x01\x00",
        b"\x05\x01\x00\x03\x06a.test\x00\x50",
    ];

    #[test]
    fn the_body_survives_random_bytes() {
        let mut noise = Noise::new(11);
        for _ in 0..5000 {
            let mut data = vec![0; 1 + usize::try_from(noise.word() % 3).unwrap_or_default()];
            noise.fill(&mut data);
            if noise.word().is_multiple_of(2) {
                data.truncate(1);
            }
            for _ in 0..noise.word() % 14 {
                let choice = usize::try_from(noise.word() % WORDS.len() as u64).unwrap_or_default();
                data.extend_from_slice(WORDS[choice]);
            }
            request_any(&data);
        }
    }
}
