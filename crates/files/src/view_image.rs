//! The tool `view_image`: an image as a data URL. The content decides its format, and a broken image is detected before
//! it reaches a model: a provider would reject the conversation that contains it, for ever.

mod header;
mod shrink;

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::header::Pixels;
use self::shrink::Picture;
use crate::answer::{FileOutput, FileToolError};
use crate::arguments::{Fields, object};
use crate::content::{self, ImageKind};
use crate::file_context::FileContext;
use crate::opening::{self, OpenedFile};
use crate::words::{Named, size};

/// Its name.
pub const NAME: &str = "view_image";

/// Its description, for models.
pub const DESCRIPTION: &str = "Shows you a local image file (PNG, JPEG, GIF or WebP), e.g. a screenshot: \
{\"path\":\"out/plot.png\"}. Large ones are made smaller. Not for SVG, which is text: use read_file.";

/// The largest file that is read.
const LARGEST_FILE: u64 = 20_000_000;
/// The largest image, in bytes, that models accept.
const LARGEST_SENT: usize = 5_000_000;
/// The advice for files that are not images.
const TAKEN: &str = "PNG, JPEG, GIF and WebP images can be viewed";

/// The JSON Schema of its arguments.
pub fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "Path of the image file, absolute or relative to the working directory." },
            "detail": { "type": "string", "enum": ["auto", "low", "high", "original"], "description": "`auto` (default) and `high`: at most 2048 pixels a side. `low`: 512. `original`: as it is, if at all possible." }
        },
        "required": ["path"],
        "additionalProperties": false
    })
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The image, absolute or relative to the agent's directory.
    pub path: PathBuf,
    /// The level of detail.
    pub detail: Detail,
    /// Notes for the output, about unknown arguments.
    pub remarks: Vec<String>,
}

/// The level of detail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// The models' default.
    #[default]
    Auto,
    /// A small version.
    Low,
    /// The largest size that models usually accept.
    High,
    /// The original size.
    Original,
}

impl Detail {
    /// The longest side of the image that is sent.
    fn longest_side(self) -> u32 {
        match self {
            Self::Low => 512,
            Self::Auto | Self::High => 2048,
            // No provider accepts more.
            Self::Original => 8000,
        }
    }
}

impl Arguments {
    /// Reads them from a call's arguments.
    pub fn parse(arguments: Map<String, Value>) -> Result<Self, FileToolError> {
        let mut fields = Fields::new(arguments);
        let path = fields.path(&["path", "file_path"])?;
        Ok(Self {
            path: fields.required("path", path)?,
            detail: fields.choice("detail", &["auto", "low", "high", "original"])?.unwrap_or_default(),
            remarks: fields.remarks(),
        })
    }

    /// Reads them from JSON text.
    pub fn from_json(text: &str) -> Result<Self, FileToolError> {
        Self::parse(object(text)?)
    }
}

/// Carries the call out.
pub fn run(arguments: &Arguments, surroundings: &FileContext<'_>) -> Result<FileOutput, FileToolError> {
    let path = surroundings.absolute(&arguments.path);
    let found = opening::find(&path, surroundings)?;
    let bytes = read(&found, found.read("give the path of an image file")?)?;
    let kind = ImageKind::of(&bytes).ok_or_else(|| no_picture(&found, &bytes))?;
    let pixels = header::pixels(kind, &bytes).ok_or_else(|| damaged(&found, kind))?;
    let mut note =
        format!("{}: {} image of {pixels} pixels, {}", Named(&path), kind.name(), size(bytes.len() as u64));
    surroundings.go_on()?;
    let sent = prepared(&found, Picture { kind, pixels, bytes }, arguments.detail)?;
    surroundings.go_on()?;
    if sent.pixels != pixels {
        note += &format!("; shown in {}", sent.pixels);
    }
    arguments.remarks.iter().for_each(|remark| note += &format!("\nNote: {remark}"));
    let data_url = format!("data:{};base64,{}", sent.kind.media_type(), STANDARD.encode(&sent.bytes));
    Ok(FileOutput::Image { data_url, note })
}

fn read(found: &OpenedFile, file: File) -> Result<Vec<u8>, FileToolError> {
    let mut bytes = Vec::new();
    let read = file.take(LARGEST_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|source| found.system("read it", source))?;
    if bytes.len() as u64 > LARGEST_FILE {
        let kind =
            content::binary_kind(&bytes[..content::SAMPLE]).unwrap_or_else(|| "a text file".to_owned());
        let large = format!("{kind} of {}", size(found.metadata.len()));
        return Err(found.unfit(&large, &format!("at most {} can be viewed", size(LARGEST_FILE))));
    }
    Ok(bytes)
}

/// The image to send: the file as it is, if it is complete and small enough, or else a smaller image.
fn prepared(found: &OpenedFile, picture: Picture, detail: Detail) -> Result<Picture, FileToolError> {
    let side = detail.longest_side();
    let fits = picture.pixels.longest_side() <= side && picture.bytes.len() <= LARGEST_SENT;
    if !header::is_whole(picture.kind, &picture.bytes) {
        return Err(damaged(found, picture.kind));
    }
    match picture.kind {
        ImageKind::Png | ImageKind::Jpeg if picture.pixels.count() > shrink::MOST_PIXELS => {
            Err(too_large(found, &picture))
        }
        ImageKind::Png | ImageKind::Jpeg => {
            let decoded = shrink::decode(&picture).map_err(|_| damaged(found, picture.kind))?;
            if fits {
                return Ok(picture);
            }
            let within = shrink::Within { side, bytes: LARGEST_SENT };
            shrink::shrunk(&decoded, picture.kind, within).ok_or_else(|| too_large(found, &picture))
        }
        // With `low` the provider shrinks the image itself, so only an image that no provider accepts is rejected.
        ImageKind::Gif | ImageKind::Webp if fits || detail == Detail::Low && is_taken(&picture) => {
            Ok(picture)
        }
        ImageKind::Gif | ImageKind::Webp => Err(too_large(found, &picture)),
    }
}

fn is_taken(picture: &Picture) -> bool {
    picture.pixels.longest_side() <= Detail::High.longest_side() && picture.bytes.len() <= LARGEST_SENT
}

fn no_picture(found: &OpenedFile, bytes: &[u8]) -> FileToolError {
    let beginning = &bytes[..bytes.len().min(content::SAMPLE)];
    let is_drawing = memchr::memmem::find(beginning, b"<svg").is_some();
    match content::binary_kind(beginning) {
        Some(kind) => found.unfit(&kind, TAKEN),
        None if bytes.is_empty() => found.unfit("an empty file", TAKEN),
        None if is_drawing => {
            found.unfit("an SVG drawing, which is text", "use read_file, or convert it to PNG")
        }
        None => found.unfit("a text file", "use read_file"),
    }
}

fn damaged(found: &OpenedFile, kind: ImageKind) -> FileToolError {
    let kind = format!("a {} image that is damaged or broken off", kind.name());
    found.unfit(&kind, "no model would take it")
}

fn too_large(found: &OpenedFile, picture: &Picture) -> FileToolError {
    let Picture { kind, pixels, bytes } = picture;
    let kind = format!("a {} image of {pixels} pixels and {}", kind.name(), size(bytes.len() as u64));
    found.unfit(&kind, "too large for models: make it smaller first, with a command, and view that")
}

impl std::fmt::Display for Pixels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}
