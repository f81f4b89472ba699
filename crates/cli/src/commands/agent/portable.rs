//! `windlass agent --portable export|import FILE`: settings, instructions and skills as one encrypted file to take
//! along.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use windlass_config::Places;
use windlass_config::portable::{
    self, Existing, ExportOptions, ImportError, ImportOptions, Imported, LARGEST, Secrets, WorkFactor,
};

use super::passphrase::{self, Typed};
use crate::args::{AgentPortable, PortableName};
use crate::config::Config;
use crate::failure::Exit;
use crate::printing;

/// The request: export or import.
pub(super) struct PortableRequest<'a> {
    pub(super) what: PortableName,
    pub(super) file: &'a Path,
    pub(super) options: &'a AgentPortable,
}

pub(super) fn run(order: &PortableRequest<'_>, config: &Config) -> Result<Exit> {
    let directory = Config::working_directory()?;
    let places = Places::from_variables(|name| config.variable(name).map(ToOwned::to_owned), &directory);
    match order.what {
        PortableName::Export => export(order, &places, config),
        PortableName::Import => import(order, &places, config),
    }
}

fn export(order: &PortableRequest<'_>, places: &Places, config: &Config) -> Result<Exit> {
    let file = order.file;
    if file.symlink_metadata().is_ok() && !order.options.replace {
        bail!("{} is there already; --replace overwrites it", file.display());
    }
    let options = ExportOptions {
        passphrase: passphrase::read(order.options.passphrase_file.as_deref(), Typed::Twice, config)?,
        secrets: if order.options.with_secrets { Secrets::Include } else { Secrets::LeaveOut },
        work: WorkFactor::default(),
    };
    let exported = portable::export(places, &options)?;
    write(file, &exported.bytes)?;
    let mut text = format!("{} holds:\n", file.display());
    for name in &exported.files {
        text += &format!("  {name}\n");
    }
    if !exported.left_out.is_empty() {
        text += "Left out:\n";
    }
    for omission in &exported.left_out {
        let place = omission.place.as_ref().map(|place| format!(", {place}")).unwrap_or_default();
        text += &format!("  {}{place}: {}\n", omission.file, omission.reason);
    }
    printing::print_text(&text)?;
    Ok(Exit::SUCCESS)
}

/// Writes a temporary file beside the target first: an existing file stays complete until the new one replaces it.
fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    let cannot = || format!("cannot write {}", file.display());
    let mut name = file.file_name().with_context(|| format!("{} names no file", file.display()))?.to_owned();
    name.push(format!(".{}", std::process::id()));
    let beside = file.with_file_name(name);
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).and_then(|mut new| {
            new.write_all(bytes)?;
            new.sync_all()?;
            std::fs::rename(&beside, file)
        });
    if written.is_err() {
        // The file may not exist.
        let _ = std::fs::remove_file(&beside);
    }
    written.with_context(cannot)
}

fn import(order: &PortableRequest<'_>, places: &Places, config: &Config) -> Result<Exit> {
    let mut bytes = Vec::new();
    let read = File::open(order.file).and_then(|file| file.take(LARGEST as u64 + 1).read_to_end(&mut bytes));
    read.with_context(|| format!("cannot read {}", order.file.display()))?;
    let options = ImportOptions {
        passphrase: passphrase::read(order.options.passphrase_file.as_deref(), Typed::Once, config)?,
        existing: if order.options.replace { Existing::Replace } else { Existing::Refuse },
    };
    match portable::import(&bytes, places, &options) {
        Ok(imported) => {
            printing::print_text(&told(&imported))?;
            Ok(Exit::SUCCESS)
        }
        Err(ImportError::Differs { files }) => {
            bail!(
                "nothing was imported, because these are there already and differ; --replace overwrites them{}",
                lines(&files)
            )
        }
        Err(error) => {
            Err(error).with_context(|| format!("nothing was imported from {}", order.file.display()))
        }
    }
}

fn told(imported: &Imported) -> String {
    let groups = [
        ("Added:", &imported.added),
        ("Replaced:", &imported.replaced),
        ("The same already:", &imported.unchanged),
    ];
    let there = groups.into_iter().filter(|(_, files)| !files.is_empty());
    there.map(|(title, files)| format!("{title}{}\n", lines(files))).collect()
}

fn lines(files: &[PathBuf]) -> String {
    files.iter().map(|file| format!("\n  {}", file.display())).collect()
}
