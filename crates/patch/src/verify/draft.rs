//! The files of a patch while its sections are processed. Several sections may change the same file if that can mean
//! one thing only: an added or updated file may be updated, a deleted file may be added again.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::directory::{Directory, resolve};
use crate::inspect;
use crate::misfit::Misfit;
use crate::patch::{Chunk, Section, Update};
use crate::plan::{Change, FileStep, Kind, Plan};
use crate::rewrite::rewrite;
use crate::verify::VerifyError;
use crate::warning::{Doubt, Warning};

/// The files so far.
pub(super) struct Draft<'a> {
    directory: &'a Directory<'a>,
    files: Vec<DraftFile>,
    by_place: HashMap<PathBuf, FileNumber>,
    outcomes: Vec<Outcome>,
    warnings: Vec<Warning>,
}

/// An index into the draft's files.
type FileNumber = usize;

/// One path on the disk, and the result of the sections so far.
struct DraftFile {
    place: PathBuf,
    written: String,
    link: Option<PathBuf>,
    before: Option<String>,
    now: Option<String>,
    touch: Touch,
    moved_from: Option<FileNumber>,
}

/// The last section's change to a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    Nothing,
    Added,
    Updated,
    Deleted,
    MovedAway,
    /// Another file was moved here, and there was none before.
    MovedHere,
    /// Another file was moved here, over an existing one.
    MovedOver,
}

/// The change to a file that the plan reports.
struct Outcome {
    kind: Kind,
    file: FileNumber,
    moved_to: Option<FileNumber>,
}

impl<'a> Draft<'a> {
    pub(super) fn of(directory: &'a Directory<'a>) -> Self {
        let (files, by_place) = (Vec::new(), HashMap::new());
        Self { directory, files, by_place, outcomes: Vec::new(), warnings: Vec::new() }
    }

    pub(super) fn take(&mut self, section: &Section) -> Result<(), VerifyError> {
        match section {
            Section::Add { path, text } => self.add(path, text),
            Section::Delete { path } => self.delete(path),
            Section::Update(update) => self.update(update),
        }
    }

    fn add(&mut self, path: &str, text: &str) -> Result<(), VerifyError> {
        let unwritable = |source| VerifyError::Write { path: path.to_owned(), source };
        let place = self.place_to_write(path).map_err(unwritable)?;
        let number = self.open(place, path).map_err(unwritable)?;
        self.expect(number, path, &[Touch::Nothing, Touch::Deleted, Touch::MovedAway])?;
        let file = &mut self.files[number];
        inspect::check_writable(&file.place, file.before.is_some()).map_err(unwritable)?;
        file.now = Some(text.to_owned());
        file.touch = Touch::Added;
        self.forget_deletion(number);
        self.outcomes.push(Outcome { kind: Kind::Add, file: number, moved_to: None });
        Ok(())
    }

    fn delete(&mut self, path: &str) -> Result<(), VerifyError> {
        let unreadable = |source: io::Error| match source.kind() {
            io::ErrorKind::IsADirectory => VerifyError::NotAFile { path: path.to_owned() },
            _ => VerifyError::Read { path: path.to_owned(), source },
        };
        let place = self.directory.resolve_entry(path).map_err(unreadable)?;
        let number = self.open(place, path).map_err(unreadable)?;
        self.expect(number, path, &[Touch::Nothing])?;
        let file = &mut self.files[number];
        if file.before.is_none() {
            return Err(unreadable(missing()));
        }
        inspect::check_removable(&file.place)
            .map_err(|source| VerifyError::Write { path: path.to_owned(), source })?;
        file.now = None;
        file.touch = Touch::Deleted;
        self.outcomes.push(Outcome { kind: Kind::Delete, file: number, moved_to: None });
        Ok(())
    }

    fn update(&mut self, update: &Update) -> Result<(), VerifyError> {
        let number = self.open_to_update(update)?;
        let path = update.path.as_str();
        let touches: &[Touch] = match update.move_to {
            Some(_) => &[Touch::Nothing, Touch::Updated],
            None => &[Touch::Nothing, Touch::Added, Touch::Updated, Touch::MovedHere],
        };
        self.expect(number, path, touches)?;
        let text = self.rewritten(number, path, &update.chunks)?;
        match &update.move_to {
            Some(target) => self.move_file(number, (path, target), text),
            None => self.keep_updated(number, path, text),
        }
    }

    fn open_to_update(&mut self, update: &Update) -> Result<FileNumber, VerifyError> {
        let path = update.path.as_str();
        let unreadable = |source| VerifyError::ReadToUpdate { path: path.to_owned(), source };
        // A move moves the link itself, as `mv` does; an update changes the link's target.
        let place = match update.move_to {
            Some(_) => self.directory.resolve_entry(path),
            None => self.place_to_write(path),
        };
        let number = self.open(place.map_err(unreadable)?, path).map_err(unreadable)?;
        match (&self.files[number].before, self.files[number].touch) {
            (None, Touch::Nothing) => Err(unreadable(missing())),
            _ => Ok(number),
        }
    }

    /// The file's text after the chunks. If an earlier section changed the file, the chunks must fit one place only.
    fn rewritten(&mut self, number: FileNumber, path: &str, chunks: &[Chunk]) -> Result<String, VerifyError> {
        let misfit = |misfit| VerifyError::Misfit { path: path.to_owned(), misfit };
        let file = &self.files[number];
        let rewritten = rewrite(file.now.as_deref().unwrap_or_default(), chunks).map_err(misfit)?;
        for doubt in rewritten.doubts {
            if let (Doubt::Repeated { line, others, .. }, true) = (&doubt, file.touch != Touch::Nothing) {
                let mut lines = others.clone();
                lines.push(*line);
                lines.sort_unstable();
                return Err(misfit(Misfit::Ambiguous { lines }));
            }
            self.warnings.push(Warning::Unclear { path: path.to_owned(), doubt });
        }
        Ok(rewritten.text)
    }

    fn keep_updated(&mut self, number: FileNumber, path: &str, text: String) -> Result<(), VerifyError> {
        let file = &mut self.files[number];
        inspect::check_writable(&file.place, file.before.is_some())
            .map_err(|source| VerifyError::Write { path: path.to_owned(), source })?;
        file.now = Some(text);
        if file.touch == Touch::Nothing {
            file.touch = Touch::Updated;
            self.outcomes.push(Outcome { kind: Kind::Update, file: number, moved_to: None });
        }
        Ok(())
    }

    /// `paths`: source and target, as written.
    fn move_file(
        &mut self,
        number: FileNumber,
        paths: (&str, &str),
        text: String,
    ) -> Result<(), VerifyError> {
        let (path, target) = paths;
        let unwritable = |source| VerifyError::Write { path: target.to_owned(), source };
        let place = self.place_to_write(target).map_err(unwritable)?;
        let to = self.open(place, target).map_err(unwritable)?;
        if to == number {
            return self.keep_updated(number, path, text);
        }
        self.expect(to, target, &[Touch::Nothing, Touch::Deleted, Touch::MovedAway])?;
        let onto = &mut self.files[to];
        inspect::check_writable(&onto.place, onto.before.is_some()).map_err(unwritable)?;
        onto.touch = if onto.before.is_some() { Touch::MovedOver } else { Touch::MovedHere };
        onto.now = Some(text);
        onto.moved_from = Some(number);
        self.leave(number, path)?;
        self.forget_deletion(to);
        self.outcomes.retain(|outcome| outcome.file != number);
        self.outcomes.push(Outcome { kind: Kind::Update, file: number, moved_to: Some(to) });
        Ok(())
    }

    /// Removes a file from its old path.
    fn leave(&mut self, number: FileNumber, path: &str) -> Result<(), VerifyError> {
        let file = &mut self.files[number];
        inspect::check_removable(&file.place)
            .map_err(|source| VerifyError::Write { path: path.to_owned(), source })?;
        file.now = None;
        file.touch = Touch::MovedAway;
        Ok(())
    }

    /// The path to write: through links, except one that this patch has removed.
    fn place_to_write(&self, path: &str) -> io::Result<PathBuf> {
        let entry = self.directory.resolve_entry(path)?;
        match self.by_place.get(&entry).map(|number| self.files[*number].touch) {
            Some(Touch::Deleted | Touch::MovedAway | Touch::Added) => Ok(entry),
            _ => self.directory.resolve(path),
        }
    }

    /// The file at a path, read when a section first names it.
    fn open(&mut self, place: PathBuf, written: &str) -> io::Result<FileNumber> {
        if let Some(number) = self.by_place.get(&place) {
            return Ok(*number);
        }
        let link = place.read_link().ok();
        let before = self.text_at(&place, link.is_some())?;
        let number = self.files.len();
        self.files.push(DraftFile {
            link,
            place: place.clone(),
            written: written.to_owned(),
            now: before.clone(),
            before,
            touch: Touch::Nothing,
            moved_from: None,
        });
        self.by_place.insert(place, number);
        Ok(number)
    }

    /// The text at a path. It was checked before, but may lead elsewhere since: the path that is read here is the one
    /// that is written later.
    fn text_at(&self, place: &Path, is_link: bool) -> io::Result<Option<String>> {
        let refused = |reason: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        if !self.directory.may_write(place) {
            return refused(self.directory.refusal().to_string());
        }
        if !is_link {
            return inspect::load_resolved(place);
        }
        let target = resolve(place)?;
        if !self.directory.may_read(&target) {
            return refused(format!("it is a link to {}, which may not be read", target.display()));
        }
        inspect::load_resolved(&target)
    }

    fn expect(&self, number: FileNumber, path: &str, touches: &[Touch]) -> Result<(), VerifyError> {
        if touches.contains(&self.files[number].touch) {
            return Ok(());
        }
        Err(VerifyError::Multiple { path: path.to_owned() })
    }

    fn forget_deletion(&mut self, number: FileNumber) {
        self.outcomes.retain(|outcome| outcome.file != number || outcome.kind != Kind::Delete);
    }

    pub(super) fn plan(self) -> Result<Plan, VerifyError> {
        let changes = self.outcomes.iter().map(|outcome| self.change(outcome)).collect();
        let steps = self.files.iter().map(|file| self.step(file)).collect();
        Ok(Plan { steps, changes, warnings: self.warnings })
    }

    fn change(&self, outcome: &Outcome) -> Change {
        let file = &self.files[outcome.file];
        let target = outcome.moved_to.map(|number| &self.files[number]);
        Change {
            path: self.directory.absolute(&file.written),
            written: file.written.clone(),
            kind: outcome.kind,
            moved_to: target.map(|target| self.directory.absolute(&target.written)),
            moved_to_written: target.map(|target| target.written.clone()),
            old: file.before.clone(),
            new: target.unwrap_or(file).now.clone(),
            overwritten: target.and_then(|target| target.before.clone()),
        }
    }

    fn step(&self, file: &DraftFile) -> FileStep {
        FileStep {
            place: file.place.clone(),
            written: file.written.clone(),
            link: file.link.clone(),
            before: file.before.clone(),
            after: file.now.clone(),
            moved_from: file.moved_from.map(|number| self.files[number].place.clone()),
        }
    }
}

fn missing() -> io::Error {
    rustix::io::Errno::NOENT.into()
}
