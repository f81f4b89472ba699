//! Checks images that a script shows: only `data:` URLs are accepted, so that showing one fetches nothing.

/// The URL is not an accepted image.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("image takes a URL like data:image/png;base64,... of a PNG, JPEG, GIF or WebP image")]
pub(crate) struct NoImage;

const KINDS: [&str; 5] = ["png", "jpeg", "jpg", "gif", "webp"];

/// Checks that a URL is an image that contains its own bytes.
pub(crate) fn check(url: &str) -> Result<(), NoImage> {
    let rest = url.strip_prefix("data:image/").ok_or(NoImage)?;
    let (kind, data) = rest.split_once(";base64,").ok_or(NoImage)?;
    let content = data.trim_end_matches('=');
    let padding = data.len() - content.len();
    let is_base64 = content.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/');
    let fits =
        KINDS.contains(&kind) && is_base64 && !content.is_empty() && padding <= 2 && data.len() % 4 == 0;
    if fits { Ok(()) } else { Err(NoImage) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_images_with_their_bytes_are_shown() {
        let good =
            ["data:image/png;base64,AAAA", "data:image/webp;base64,AA==", "data:image/jpeg;base64,+/A="];
        good.iter().for_each(|url| assert_eq!(check(url), Ok(()), "{url}"));
        let bad = [
            "",
            "http://example.org/a.png",
            "file:///etc/passwd",
            "data:text/html;base64,AAAA",
            "data:image/png,AAAA",
            "data:image/png;base64,",
            "data:image/png;base64,AAA",
            "data:image/png;base64,A===",
            "data:image/png;base64,AA\nA",
            "data:image/svg+xml;base64,AAAA",
        ];
        bad.iter().for_each(|url| assert_eq!(check(url), Err(NoImage), "{url}"));
    }
}
