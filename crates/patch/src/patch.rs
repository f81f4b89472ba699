//! A parsed patch: the changes that it makes to files. Plain data; nothing here reads the disk.

use crate::envelope::{self, Ignored};
use crate::parse::{self, ParseError};

/// The longest text that is read as a patch, in bytes. Several times the longest response of a model.
pub const MAX_PATCH: usize = 4 << 20;

/// Changes to files that a model asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    pub(crate) sections: Vec<Section>,
    /// How much text around the patch was ignored.
    pub(crate) ignored: Ignored,
}

impl Patch {
    /// Parses a patch, also one in a markdown fence, in a here-document or between other text, as long as there is only
    /// one way to read it.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text.len() > MAX_PATCH {
            return Err(ParseError::TooLarge { size: text.len(), limit: MAX_PATCH });
        }
        let envelope = envelope::open(text)?;
        let sections = parse::sections(&envelope.lines)?;
        if sections.is_empty() {
            return Err(ParseError::Empty);
        }
        Ok(Self { sections, ignored: envelope.ignored })
    }

    /// All paths that the patch changes, as written and each once: sources as well as targets of moves.
    pub fn paths(&self) -> Vec<&str> {
        let mut seen = std::collections::HashSet::new();
        let paths = self.sections.iter().flat_map(Section::paths);
        paths.filter(|path| seen.insert(*path)).collect()
    }
}

/// The changes to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Add { path: String, text: String },
    Delete { path: String },
    Update(Update),
}

/// Chunks that change one file, and perhaps a new path for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Update {
    pub(crate) path: String,
    pub(crate) move_to: Option<String>,
    pub(crate) chunks: Vec<Chunk>,
}

impl Section {
    fn paths(&self) -> impl Iterator<Item = &str> {
        let (path, target) = match self {
            Self::Add { path, .. } | Self::Delete { path } => (path, None),
            Self::Update(update) => (&update.path, update.move_to.as_deref()),
        };
        std::iter::once(path.as_str()).chain(target)
    }
}

/// A run of neighbouring lines: kept, removed and added ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Lines that precede the chunk in the file, the outermost first.
    pub(crate) headers: Vec<String>,
    /// The position that a unified diff gives.
    pub(crate) numbers: Option<LineNumbers>,
    pub(crate) lines: Vec<PatchLine>,
    pub(crate) place: ChunkPlace,
}

/// Whether a chunk says that it ends where the file ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ChunkPlace {
    #[default]
    Anywhere,
    EndOfFile,
}

/// The first half of a unified diff's header, counted from one. Models count badly, so it is a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineNumbers {
    pub(crate) start: usize,
    pub(crate) count: usize,
}

/// One line of a chunk, without its prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PatchLine {
    Context(String),
    Remove(String),
    Add(String),
}

impl PatchLine {
    /// The line's text, if the file must contain it.
    pub(crate) fn old(&self) -> Option<&str> {
        match self {
            Self::Context(text) | Self::Remove(text) => Some(text),
            Self::Add(_) => None,
        }
    }

    pub(crate) fn is_context(&self) -> bool {
        matches!(self, Self::Context(_))
    }
}

impl Chunk {
    /// Whether the line changes anything.
    pub(crate) fn changes(&self) -> bool {
        self.lines.iter().any(|line| !line.is_context())
    }
}
