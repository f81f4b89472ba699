//! Decodes images, which proves that they are complete, and shrinks them.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};

use super::header::Pixels;
use crate::content::ImageKind;

/// The most pixels that are decoded: with four bytes each, and two copies while shrinking, some 400 MB.
pub(super) const MOST_PIXELS: u64 = 50_000_000;
/// The most memory that a decoder may use.
const MOST_MEMORY: u64 = 512 << 20;
/// The quality of a JPEG.
const QUALITY: u8 = 85;
/// The smallest size that is tried: an image that is too large even at this side never fits.
const SMALLEST_SIDE: u32 = 64;

/// An image, as it is stored in a file.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) kind: ImageKind,
    pub(super) pixels: Pixels,
    pub(super) bytes: Vec<u8>,
}

/// The limits for an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    pub(super) side: u32,
    pub(super) bytes: usize,
}

/// Decodes a PNG or JPEG, turned to its intended orientation.
pub(super) fn decode(picture: &Picture) -> Result<DynamicImage, ImageError> {
    let format = if picture.kind == ImageKind::Png { ImageFormat::Png } else { ImageFormat::Jpeg };
    let mut reader = ImageReader::with_format(Cursor::new(&picture.bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_MEMORY);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    // Cameras store the orientation as metadata. A shrunk image loses the metadata, so its pixels are turned.
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    Ok(image)
}

/// The image, shrunk to the limits.
pub(super) fn shrunk(image: &DynamicImage, kind: ImageKind, within: Within) -> Option<Picture> {
    let mut side = within.side.min(image.width().max(image.height()));
    while side >= SMALLEST_SIDE {
        let smaller = image.resize(side, side, FilterType::Triangle);
        let bytes = encode(&smaller, kind)?;
        if bytes.len() <= within.bytes {
            let pixels = Pixels { width: smaller.width(), height: smaller.height() };
            return Some(Picture { kind, pixels, bytes });
        }
        side = side / 4 * 3;
    }
    None
}

fn encode(image: &DynamicImage, kind: ImageKind) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let encoded = match kind {
        ImageKind::Jpeg => image.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, QUALITY)),
        _ => image.write_with_encoder(PngEncoder::new(&mut bytes)),
    };
    encoded.ok().map(|()| bytes)
}
