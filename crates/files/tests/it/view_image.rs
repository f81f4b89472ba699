//! Viewing images.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::{DynamicImage, ImageFormat, RgbImage};
use proptest::prelude::*;
use windlass_files::{FileOutput, FileToolError};

use crate::place::Place;

/// An image in which neighbouring pixels differ, so that it does not compress well.
fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let noise = |x: u32, y: u32| {
        (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503_001)).wrapping_mul(2_246_822_519) >> 24
    };
    let image = RgbImage::from_fn(width, height, |x, y| image::Rgb([noise(x, y) as u8, x as u8, y as u8]));
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::from(image).write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// The result of viewing these bytes: the media type, the bytes, the note.
fn view(bytes: &[u8], more: &str) -> Result<(String, Vec<u8>, String), String> {
    let place = Place::new("view");
    place.write("picture", bytes);
    let here = place.path().to_str().unwrap().to_owned();
    match place.call("view_image", &format!(r#"{{"path":"picture"{more}}}"#)) {
        Ok(FileOutput::Image { data_url, note }) => {
            let (head, data) = data_url.split_once(";base64,").unwrap();
            let media_type = head.strip_prefix("data:").unwrap().to_owned();
            Ok((media_type, STANDARD.decode(data).unwrap(), note.replace(&here, "HERE")))
        }
        Err(refusal) => Err(refusal.to_string().replace(&here, "HERE")),
        Ok(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_picture_of_a_usual_size_is_sent_as_it_is() {
    for (format, media_type, name) in
        [(ImageFormat::Png, "image/png", "PNG"), (ImageFormat::Jpeg, "image/jpeg", "JPEG")]
    {
        let bytes = picture(64, 48, format);
        let (found, sent, note) = view(&bytes, "").unwrap();
        assert_eq!((found.as_str(), sent == bytes), (media_type, true));
        assert!(note.starts_with(&format!("HERE/picture: {name} image of 64x48 pixels, ")), "{note}");
    }
}

#[test]
fn gif_and_webp_are_sent_as_they_are_if_they_are_whole() {
    let gif = b"GIF89a\x01\x00\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x01D\x00;";
    let webp =
        b"RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00/\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00";
    for (bytes, media_type) in [(&gif[..], "image/gif"), (webp, "image/webp")] {
        let (found, sent, note) = view(bytes, "").unwrap();
        assert_eq!((found.as_str(), sent.as_slice()), (media_type, bytes));
        assert!(note.contains("of 1x1 pixels"), "{note}");
        let refusal = view(&bytes[..bytes.len() - 3], "").unwrap_err();
        assert!(refusal.contains("damaged or broken off"), "{refusal}");
    }
}

#[test]
fn large_pictures_are_made_smaller() {
    for (format, more, expected) in [
        (ImageFormat::Png, "", (2048, 64)),
        (ImageFormat::Jpeg, "", (2048, 64)),
        (ImageFormat::Jpeg, r#","detail":"low""#, (512, 16)),
        (ImageFormat::Png, r#","detail":"original""#, (3200, 100)),
    ] {
        let (_, sent, note) = view(&picture(3200, 100, format), more).unwrap();
        let image = image::load_from_memory_with_format(&sent, format).unwrap();
        assert_eq!((image.width(), image.height()), expected, "{note}");
        let shown = format!("; shown in {}x{}", expected.0, expected.1);
        assert_eq!(note.contains(&shown), expected.0 != 3200, "{note}");
    }
}

#[test]
fn pictures_of_many_bytes_are_made_smaller_until_models_take_them() {
    let bytes = picture(2040, 2040, ImageFormat::Png);
    assert!(bytes.len() > 5_000_000, "{}", bytes.len());
    let (_, sent, note) = view(&bytes, "").unwrap();
    assert!(sent.len() <= 5_000_000 && note.contains("; shown in "), "{} {note}", sent.len());
}

#[test]
fn what_is_no_picture_is_refused_by_what_it_is() {
    for (bytes, expected) in [
        (&b"hello\n"[..], "HERE/picture: is a text file; use read_file"),
        (b"", "HERE/picture: is an empty file; PNG, JPEG, GIF and WebP images can be viewed"),
        (
            b"<?xml?>\n<svg/>",
            "HERE/picture: is an SVG drawing, which is text; use read_file, or convert it to PNG",
        ),
        (b"%PDF-1.4", "HERE/picture: is a PDF document; PNG, JPEG, GIF and WebP images can be viewed"),
        (
            b"\x89PNG\r\n\x1a\n",
            "HERE/picture: is a PNG image that is damaged or broken off; no model would take it",
        ),
    ] {
        assert_eq!(view(bytes, "").unwrap_err(), expected);
    }
    let place = Place::with("no-picture", &[("dir/", "")]);
    assert_eq!(
        place.refusal("view_image", r#"{"path":"dir"}"#),
        "HERE/dir: is a directory; give the path of an image file"
    );
}

#[test]
fn a_picture_that_is_broken_off_is_refused() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg] {
        let bytes = picture(64, 64, format);
        for length in [bytes.len() / 2, bytes.len() - 2] {
            let refusal = view(&bytes[..length], "").map(|(_, _, note)| note).unwrap_err();
            assert!(refusal.contains("damaged or broken off"), "{refusal}");
        }
    }
}

#[test]
fn headers_that_promise_too_much_are_refused_before_anything_is_decoded() {
    let mut png = picture(4, 4, ImageFormat::Png);
    png[16..24].copy_from_slice(&[0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
    let refusal = view(&png, "").unwrap_err();
    assert!(
        refusal.contains("PNG image of 65535x65535 pixels") && refusal.contains("too large"),
        "{refusal}"
    );
    let place = Place::new("too-large");
    let file = place.write("a", picture(4, 4, ImageFormat::Png));
    std::fs::File::options().write(true).open(file).unwrap().set_len(1 << 40).unwrap();
    let refusal = place.refusal("view_image", r#"{"path":"a"}"#);
    assert_eq!(refusal, "HERE/a: is a PNG image of 1099.5 GB; at most 20.0 MB can be viewed");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn damaged_pictures_are_refused_or_sent_but_never_more(
        jpeg in any::<bool>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        length in any::<prop::sample::Index>(),
    ) {
        let mut bytes = picture(16, 16, if jpeg { ImageFormat::Jpeg } else { ImageFormat::Png });
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(length.index(bytes.len()) + 1);
        let place = Place::new("damaged");
        place.write("a", &bytes);
        match place.call("view_image", r#"{"path":"a"}"#) {
            Ok(FileOutput::Image { .. }) | Err(FileToolError::Unfit { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
}
