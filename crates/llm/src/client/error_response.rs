//! Reads error responses: a status other than 200, or a body that is not a stream of events.

use std::time::Duration;

use http::header::{CONTENT_TYPE, DATE, HeaderName, LOCATION, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, Collected, Limited};
use hyper::body::Incoming;

use super::Client;
use crate::failure::{Failure, Remedy};
use crate::provider_error::{Complaint, shortened};

/// The longest part of an error body that is read; the reason stands at its beginning.
const LONGEST_BODY: usize = 64 * 1024;

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// An error response whose body has not been read yet.
pub(super) struct ErrorResponse<'c> {
    client: &'c Client,
    status: StatusCode,
    after: Option<Duration>,
    kind: String,
    location: Option<String>,
}

/// Recognizes an error response by its head.
pub(super) fn of<'c>(
    client: &'c Client,
    status: StatusCode,
    headers: &HeaderMap,
) -> Option<ErrorResponse<'c>> {
    let kind = text(headers, &CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
    // Not every provider sends the content type of a stream, but these two types are never a stream.
    let foreign = ["application/json", "text/html"].iter().any(|other| kind.starts_with(other));
    (status != StatusCode::OK || foreign).then(|| ErrorResponse {
        client,
        status,
        after: asked_to_wait(headers),
        kind,
        location: text(headers, &LOCATION).map(str::to_owned),
    })
}

impl ErrorResponse<'_> {
    /// Reads the body, and returns the failure that it describes.
    pub(super) async fn read(self, body: Incoming) -> Failure {
        let body = Limited::new(body, LONGEST_BODY).collect();
        // timer: an error body arrives at once, or it is not worth waiting for.
        let body = tokio::time::timeout(self.client.0.provider.connect_timeout, body).await;
        let bytes = body.ok().and_then(Result::ok).map(Collected::to_bytes).unwrap_or_default();
        self.judged(&String::from_utf8_lossy(&bytes))
    }

    fn judged(&self, body: &str) -> Failure {
        let failure = match self.status {
            StatusCode::OK => self.no_stream(body),
            status if status.is_redirection() => self.redirected(),
            status => self.refused(status.as_u16(), body),
        };
        Failure { message: self.client.0.secrets.hide(&failure.message), ..failure }
    }

    fn no_stream(&self, body: &str) -> Failure {
        let name = &self.client.0.provider.name;
        let complaint = serde_json::from_str(body).ok().and_then(|value| Complaint::of_value(&value));
        match complaint {
            Some(complaint) => complaint.into_failure(&format!("{name} failed")),
            None => Failure::lasting(format!(
                "{name} answered with {} and not with a stream of events; is its address right? It said: {}",
                self.kind,
                Complaint::of_body(200, body).message
            )),
        }
    }

    fn redirected(&self) -> Failure {
        let provider = &self.client.0.provider;
        let to = self.location.as_deref().map(shortened).unwrap_or_else(|| "nowhere".to_owned());
        Failure::lasting(format!(
            "{} is elsewhere ({}): {} leads to {to}, which is not followed",
            provider.name,
            self.status.as_u16(),
            provider.base_url
        ))
    }

    fn refused(&self, status: u16, body: &str) -> Failure {
        let complaint = Complaint::of_body(status, body);
        let remedy = match complaint.remedy() {
            Remedy::Retry { after } => Remedy::Retry { after: self.after.or(after) },
            other => other,
        };
        let name = &self.client.0.provider.name;
        let mut message = format!("{name} answered {status}: {}", complaint.message);
        if status == 401 {
            message.push_str(&self.about_the_key());
        }
        Failure { remedy, message }
    }

    fn about_the_key(&self) -> String {
        let provider = &self.client.0.provider;
        match (&provider.key, &provider.key_source) {
            (Some(_), Some(source)) => format!(" (the key comes from {source})"),
            (Some(_), None) => String::new(),
            (None, Some(source)) => format!(" (there was no key; it would come from {source})"),
            (None, None) => " (there was no key)".to_owned(),
        }
    }
}

/// The delay that the response's headers ask for: in milliseconds, in seconds, or as a date. A date is compared with
/// the date of the response, so that a wrong clock on either side does not matter.
fn asked_to_wait(headers: &HeaderMap) -> Option<Duration> {
    let milliseconds = text(headers, &RETRY_AFTER_MS).and_then(|value| value.trim().parse::<f64>().ok());
    if let Some(wait) = milliseconds.and_then(|value| Duration::try_from_secs_f64(value / 1000.0).ok()) {
        return Some(wait);
    }
    let value = text(headers, &RETRY_AFTER)?.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = httpdate::parse_http_date(value).ok()?;
    let now = httpdate::parse_http_date(text(headers, &DATE)?).ok()?;
    Some(then.duration_since(now).unwrap_or_default())
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::{Key, Provider, WireKind};

    #[test]
    fn the_time_to_wait_is_read_from_headers() {
        let check = |headers: &[(&str, &str)], expected: Option<u64>| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
            }
            assert_eq!(asked_to_wait(&map), expected.map(Duration::from_millis), "{headers:?}");
        };
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        check(&[("retry-after", "3")], Some(3000));
        check(&[("retry-after", " 0.5 "), date], Some(500));
        check(&[("retry-after-ms", "28"), ("retry-after", "1")], Some(28));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"), date], Some(10_000));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT"), date], Some(0));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")], None);
        check(&[("retry-after", "soon")], None);
        check(&[("retry-after", "-1")], None);
        check(&[("retry-after", "1e300")], None);
    }

    #[test]
    fn a_refused_key_is_named_by_where_it_comes_from_and_never_shown() {
        let check = |key: Option<&str>, source: Option<&str>, expected: &str| {
            let mut provider = Provider::at("it", "http://it/v1", WireKind::Responses);
            provider.key = key.map(Key::new);
            provider.key_source = source.map(str::to_owned);
            let client = Client::new(provider).unwrap();
            let refusal = of(&client, StatusCode::UNAUTHORIZED, &HeaderMap::new()).unwrap();
            let failure =
                refusal.judged(r#"{"error":{"message":"bad key sk-123456","code":"invalid_api_key"}}"#);
            assert_eq!((failure.remedy, failure.message.as_str()), (Remedy::GiveUp, expected));
        };
        check(
            Some("sk-123456"),
            Some("IT_KEY"),
            "it answered 401: bad key (hidden) (the key comes from IT_KEY)",
        );
        check(
            None,
            Some("IT_KEY"),
            "it answered 401: bad key sk-123456 (there was no key; it would come from IT_KEY)",
        );
    }
}
