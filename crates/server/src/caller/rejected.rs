//! Rejected callers: each gets the HTTP status 403 and the reason, and the server's operator gets a report. The request
//! itself is not read.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;

use super::Denied;
use crate::gate::plain;

/// Receives a line for the operator of a server.
pub type Report = fn(&str);

/// The number of rejections reported. A command that connects again and again would fill the operator's log.
const MOST_REPORTED: usize = 10;

/// Rejects callers.
#[derive(Debug)]
pub(crate) struct TurnedAway {
    report: Report,
    reported: AtomicUsize,
}

impl TurnedAway {
    pub(crate) fn new(report: Report) -> Self {
        Self { report, reported: AtomicUsize::new(0) }
    }

    /// Reports a caller, and returns the reply with the reason. The connection ends with that reply.
    pub(crate) fn answer(&self, why: Denied) -> Response<Full<Bytes>> {
        self.tell_operator(why);
        let mut answer = plain(StatusCode::FORBIDDEN, why.text());
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        answer
    }

    fn tell_operator(&self, why: Denied) {
        match self.reported.fetch_add(1, Ordering::Relaxed) {
            ..MOST_REPORTED => (self.report)(&format!("refused a connection: {why}")),
            MOST_REPORTED => (self.report)("refused more connections; they are not reported any more"),
            _ => {}
        }
    }
}
