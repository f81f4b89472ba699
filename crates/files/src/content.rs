//! Recognizes the kind of a file's content by its first bytes, never by its name.

/// The length of the beginning that is examined.
pub(crate) const SAMPLE: usize = 8192;

/// An image format that models accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageKind {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl ImageKind {
    pub(crate) fn of(beginning: &[u8]) -> Option<Self> {
        match beginning {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::Webp => "WebP",
        }
    }

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// The kind of a binary file, with its article; `None` for text. Only the first [`SAMPLE`] bytes decide.
pub(crate) fn binary_kind(beginning: &[u8]) -> Option<String> {
    if let Some(image) = ImageKind::of(beginning) {
        return Some(format!("a {} image", image.name()));
    }
    let known = SIGNATURES.iter().find(|signature| signature.matches(beginning));
    if let Some(signature) = known.filter(|signature| signature.is_certain()) {
        return Some(signature.kind.to_owned());
    }
    let has_nul = memchr::memchr(0, beginning).is_some();
    has_nul.then(|| known.map_or("binary data of no known kind", |signature| signature.kind).to_owned())
}

/// A sequence of bytes that identifies a kind of file.
struct Signature {
    at: usize,
    bytes: &'static [u8],
    kind: &'static str,
}

impl Signature {
    fn matches(&self, beginning: &[u8]) -> bool {
        beginning.get(self.at..).is_some_and(|rest| rest.starts_with(self.bytes))
    }

    /// Whether no text can begin with this signature. The other signatures count only in files that contain a NUL.
    fn is_certain(&self) -> bool {
        self.bytes.starts_with(b"%PDF-") || self.bytes.iter().any(|byte| !(9..0x7f).contains(byte))
    }
}

const fn signature(at: usize, bytes: &'static [u8], kind: &'static str) -> Signature {
    Signature { at, bytes, kind }
}

const SIGNATURES: &[Signature] = &[
    signature(0, b"\x7fELF", "an ELF program or library"),
    signature(0, b"PK\x03\x04", "a ZIP archive (also the form of .docx, .xlsx, .jar and .whl)"),
    signature(0, b"\x1f\x8b", "gzip-compressed data"),
    signature(0, b"BZh", "bzip2-compressed data"),
    signature(0, b"\xfd7zXZ\x00", "xz-compressed data"),
    signature(0, b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    signature(0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    signature(257, b"ustar", "a tar archive"),
    signature(0, b"!<arch>\n", "an archive of object files"),
    signature(0, b"%PDF-", "a PDF document"),
    signature(0, b"\xd0\xcf\x11\xe0", "an old Office document"),
    signature(0, b"SQLite format 3\x00", "an SQLite database"),
    signature(0, b"\x00asm", "a WebAssembly module"),
    signature(0, b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
    signature(0, b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    signature(0, b"MZ", "a Windows program"),
    signature(0, b"DIRC", "an index of git"),
    signature(0, b"PACK", "a pack of git"),
    signature(0, b"BM", "a BMP image"),
    signature(0, b"II*\x00", "a TIFF image"),
    signature(0, b"MM\x00*", "a TIFF image"),
    signature(0, b"\x00\x00\x01\x00", "an icon"),
    signature(4, b"ftypavif", "an AVIF image"),
    signature(4, b"ftypheic", "a HEIC image"),
    signature(4, b"ftyp", "an MP4 video or a relative of it"),
    signature(0, b"\x1aE\xdf\xa3", "a Matroska or WebM video"),
    signature(8, b"WAVE", "a WAVE sound"),
    signature(0, b"OggS", "an Ogg sound or video"),
    signature(0, b"fLaC", "a FLAC sound"),
    signature(0, b"ID3", "an MP3 sound"),
    signature(0, b"wOFF", "a web font"),
    signature(0, b"wOF2", "a web font"),
    signature(0, b"PAR1", "a Parquet table"),
    signature(0, b"\x93NUMPY", "a NumPy array"),
    signature(0, b"\x89HDF", "an HDF5 file"),
    signature(0, b"\xff\xfe", "UTF-16 text (`iconv -f utf-16 -t utf-8` shows it)"),
    signature(0, b"\xfe\xff", "UTF-16 text (`iconv -f utf-16 -t utf-8` shows it)"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_first_bytes() {
        for (bytes, expected) in [
            (&b""[..], None),
            (b"fn main() {}\n", None),
            (b"lat\xe9in", None),
            (b"BMW and MZ and PACK are words", None),
            (b"BM\x00\x01", Some("a BMP image")),
            (b"\x7fELF\x02", Some("an ELF program or library")),
            (b"%PDF-1.7\n", Some("a PDF document")),
            (b"\x89PNG\r\n\x1a\n", Some("a PNG image")),
            (b"RIFF\x10\x00\x00\x00WEBPVP8 ", Some("a WebP image")),
            (b"RIFF\x10\x00\x00\x00WAVEfmt ", Some("a WAVE sound")),
            (b"\xff\xfea\x00b\x00", Some("UTF-16 text (`iconv -f utf-16 -t utf-8` shows it)")),
            (b"text\x00more", Some("binary data of no known kind")),
        ] {
            assert_eq!(binary_kind(bytes).as_deref(), expected, "{}", bytes.escape_ascii());
        }
    }
}
