//! Reads the size of an image from its first bytes, and checks whether its end is present. Nothing is decoded.

use crate::content::ImageKind;

/// The size of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pixels {
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Pixels {
    pub(super) fn longest_side(self) -> u32 {
        self.width.max(self.height)
    }

    pub(super) fn count(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

/// The size that the header of an image names. `None` if the file is truncated before it, or names no size.
pub(super) fn pixels(kind: ImageKind, bytes: &[u8]) -> Option<Pixels> {
    let pixels = match kind {
        ImageKind::Png => png(bytes),
        ImageKind::Jpeg => jpeg(bytes),
        ImageKind::Gif => gif(bytes),
        ImageKind::Webp => webp(bytes),
    };
    pixels.filter(|pixels| pixels.width > 0 && pixels.height > 0)
}

/// Whether an image has its end marker. Decoders tolerate a missing one; providers may not.
pub(super) fn is_whole(kind: ImageKind, bytes: &[u8]) -> bool {
    match kind {
        // Some programs append zeros behind the end.
        ImageKind::Gif => bytes.iter().rfind(|byte| **byte != 0) == Some(&0x3b),
        ImageKind::Webp => field(bytes, 4).is_some_and(|length| {
            let length = u64::from(u32::from_le_bytes(length)) + 8;
            length <= bytes.len() as u64 && length >= 20
        }),
        ImageKind::Png => png_has_end(bytes),
        ImageKind::Jpeg => jpeg_has_end(bytes),
    }
}

fn png(bytes: &[u8]) -> Option<Pixels> {
    let [width, height] = [field(bytes, 16)?, field(bytes, 20)?].map(u32::from_be_bytes);
    Some(Pixels { width, height })
}

fn gif(bytes: &[u8]) -> Option<Pixels> {
    let [width, height] =
        [field(bytes, 6)?, field(bytes, 8)?].map(|side| u32::from(u16::from_le_bytes(side)));
    Some(Pixels { width, height })
}

/// The size stands in the first frame header.
fn jpeg(bytes: &[u8]) -> Option<Pixels> {
    let is_frame = |marker| matches!(marker, 0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf);
    let at = jpeg_segment(bytes, is_frame)?;
    let side = |at| field(bytes, at).map(|side| u32::from(u16::from_be_bytes(side)));
    Some(Pixels { height: side(at + 5)?, width: side(at + 7)? })
}

/// The position of the first such segment of a JPEG, behind others of any number and length.
fn jpeg_segment(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> Option<usize> {
    const SCAN: u8 = 0xda;
    let mut at = 2;
    loop {
        match *bytes.get(at..at + 2)? {
            // Fill bytes.
            [0xff, 0xff] => at += 1,
            [0xff, marker] if wanted(marker) => return Some(at),
            [0xff, 0x01 | 0xd0..=0xd8] => at += 2,
            [0xff, 0xd9 | SCAN] => return None,
            [0xff, _] => at += 2 + usize::from(u16::from_be_bytes(field(bytes, at + 2)?)).max(2),
            _ => return None,
        }
    }
}

/// In the data of a scan, 0xff is never followed by the code of the end marker, except at the end.
fn jpeg_has_end(bytes: &[u8]) -> bool {
    let scan = jpeg_segment(bytes, |marker| marker == 0xda);
    scan.is_some_and(|scan| memchr::memmem::find(&bytes[scan..], b"\xff\xd9").is_some())
}

/// Walks the chunks to the last one, which must be present to its last byte.
fn png_has_end(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(8..).unwrap_or_default();
    while let (Some(length), Some(name)) = (field(rest, 0), field::<4>(rest, 4)) {
        let length = u32::from_be_bytes(length) as usize;
        let Some(behind) = rest.get(length.saturating_add(12)..) else { return false };
        if &name == b"IEND" {
            return true;
        }
        rest = behind;
    }
    false
}

fn webp(bytes: &[u8]) -> Option<Pixels> {
    match &field::<4>(bytes, 12)? {
        b"VP8X" => {
            let side = |at| field(bytes, at).map(|[a, b, c]: [u8; 3]| u32::from_le_bytes([a, b, c, 0]) + 1);
            Some(Pixels { width: side(24)?, height: side(27)? })
        }
        b"VP8L" => {
            let bits = u32::from_le_bytes(field(bytes, 21)?);
            Some(Pixels { width: (bits & 0x3fff) + 1, height: (bits >> 14 & 0x3fff) + 1 })
        }
        b"VP8 " => {
            let side = |at| field(bytes, at).map(|side| u32::from(u16::from_le_bytes(side) & 0x3fff));
            Some(Pixels { width: side(26)?, height: side(28)? })
        }
        _ => None,
    }
}

fn field<const LENGTH: usize>(bytes: &[u8], at: usize) -> Option<[u8; LENGTH]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_stand_in_headers() {
        let jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc2\x00\x11\x08\x01\x02\x03\x04\x03";
        let extended =
            b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\x03\x00\x0f\x00\x00";
        let lossless = b"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f\x63\x40\x0c\x00";
        let lossy = b"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x30\x01\x00\x9d\x01\x2a\x40\x01\xf0\x00";
        for (kind, bytes, expected) in [
            (ImageKind::Jpeg, &jpeg[..], Some((772, 258))),
            (ImageKind::Jpeg, &jpeg[..14], None),
            (ImageKind::Jpeg, b"\xff\xd8\xff\xd9", None),
            (ImageKind::Gif, b"GIF89a\x0a\x00\x14\x00", Some((10, 20))),
            (ImageKind::Gif, b"GIF89a\x00\x00\x14\x00", None),
            (ImageKind::Webp, extended, Some((1024, 16))),
            (ImageKind::Webp, lossless, Some((100, 50))),
            (ImageKind::Webp, lossy, Some((320, 240))),
            (
                ImageKind::Png,
                b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x02\x00\x00\x00\x03",
                Some((2, 3)),
            ),
        ] {
            let expected = expected.map(|(width, height)| Pixels { width, height });
            assert_eq!(pixels(kind, bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for kind in [ImageKind::Png, ImageKind::Jpeg, ImageKind::Gif, ImageKind::Webp] {
                let size = pixels(kind, &bytes);
                prop_assert!(size.is_none_or(|size| size.count() > 0));
                is_whole(kind, &bytes);
            }
        }
    }
}
