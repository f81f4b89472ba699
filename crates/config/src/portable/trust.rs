//! Which projects are trusted stays on each machine: an export has no `projects`, and an import keeps those that are there.

use toml_edit::{DocumentMut, Item};

use super::archive::PackedFile;
use super::secrets::without_trust;
use crate::places::Places;
use crate::small_file;

/// Gives incoming configuration files this machine's `projects`. A file that differs from the one here in nothing else becomes
/// the same, so that it counts as unchanged.
pub(super) fn keep(files: &mut [PackedFile], places: &Places) {
    let Some(config) = &places.config else { return };
    for file in files {
        let Some(name) = file.name.strip_prefix("config/").filter(|name| is_configuration(name)) else {
            continue;
        };
        // A file here that cannot be read is reported when it is compared.
        let here = small_file::text(&config.join(name), super::LARGEST).ok().flatten().unwrap_or_default();
        let kept = std::str::from_utf8(&file.bytes).ok().and_then(|coming| kept(coming, &here));
        if let Some(text) = kept {
            file.bytes = text.into_bytes();
        }
    }
}

fn is_configuration(name: &str) -> bool {
    name.ends_with(".toml") && !name.contains('/')
}

/// The incoming text with the `projects` that are here; nothing if it is not TOML.
fn kept(coming: &str, here: &str) -> Option<String> {
    let (coming, _) = without_trust(coming, "").ok()?;
    let Ok(mut document) = here.parse::<DocumentMut>() else { return Some(coming) };
    if without_trust(here, "").is_ok_and(|(rest, _)| rest == coming) {
        return Some(here.to_owned());
    }
    let Some(projects) = document.remove("projects") else { return Some(coming) };
    // Keys of the root must stand before the first table, and tables after the last key.
    let is_table = matches!(&projects, Item::Table(table) if !table.is_dotted());
    let mut own = DocumentMut::new();
    own.insert("projects", projects);
    let (first, second) = if is_table { (coming, own.to_string()) } else { (own.to_string(), coming) };
    let newline = if first.is_empty() || first.ends_with('\n') { "" } else { "\n" };
    Some(first + newline + &second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projects_that_are_here_stay_however_they_are_written() {
        let tables = "model = 'y'\n[projects.'/x']\ntrust_level = 'trusted' # mine\n[tools]\nz = 1\n[projects.'/u']\ntrust_level = 'untrusted'\n";
        let keys = "projects.'/x'.trust_level = 'trusted'\nprojects.'/u'.trust_level = 'untrusted'\n[tools]\nz = 1\n";
        let inline =
            "projects = { '/x' = { trust_level = 'trusted' }, '/u' = { trust_level = 'untrusted' } }\n";
        for here in [tables, keys, inline] {
            for coming in ["model = 'x'\n[a]\nb = 1", "[projects.'/evil']\ntrust_level = 'trusted'\n", ""] {
                let text = kept(coming, here).unwrap();
                let document = text.parse::<DocumentMut>().unwrap();
                let level = |path: &str| document["projects"][path]["trust_level"].as_str();
                assert_eq!((level("/x"), level("/u")), (Some("trusted"), Some("untrusted")), "{text}");
                assert!(!text.contains("/evil") && !text.contains('z'), "{text}");
                assert_eq!(text.contains("b = 1"), coming.contains("b = 1"), "{text}");
                assert_eq!(kept(&without_trust(here, "").unwrap().0, here).as_deref(), Some(here));
            }
        }
    }
}
