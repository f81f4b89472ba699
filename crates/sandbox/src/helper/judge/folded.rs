//! Names that differ in bytes and can still be one name: on file systems that ignore case, such as ext4 with `casefold`
//! or vfat, `.GIT/hooks` is `.git/hooks`. The judge does not test whether a directory ignores case: a name that only
//! looks like a protected one is protected, too.

use crate::confinement::Confinement;
use crate::plan::Ruling;
use crate::policy::Access;
use crate::protect::{CONFIGURATIONS, MustNotExist};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// One command's rules with folded case, computed when first needed: there can be thousands.
#[derive(Default)]
pub(in crate::helper) struct FoldedRules(OnceCell<Folded>);

struct Folded {
    /// In the order of the rules.
    must_not_exist: Vec<Vec<u8>>,
    /// The protected paths, each with its index in the list of rulings.
    protected: Vec<(usize, Vec<u8>)>,
    /// The configurations of the plan's repositories.
    configurations: HashSet<Vec<u8>>,
}

impl FoldedRules {
    /// The entry of `must_not_exist` that fits the path.
    pub(super) fn must_not_exist<'a>(
        &self,
        order: &'a Confinement,
        path: &Path,
        fits: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Option<&'a MustNotExist> {
        let path = fold(path);
        let place =
            self.of(order).must_not_exist.iter().position(|must_not_exist| fits(must_not_exist, &path))?;
        order.must_not_exist.get(place)
    }

    /// The most specific ruling that protects a path.
    pub(super) fn protected<'a>(&self, order: &'a Confinement, path: &Path) -> Option<&'a Ruling> {
        let path = fold(path);
        let covers = |(_, protected): &&(usize, Vec<u8>)| is_at_or_below(&path, protected);
        let (place, _) = self.of(order).protected.iter().rev().find(covers)?;
        order.rulings.get(*place)
    }

    /// Whether a path is that of a configuration of the plan's repositories.
    pub(super) fn is_configuration(&self, order: &Confinement, path: &Path) -> bool {
        self.of(order).configurations.contains(fold(path).as_ref())
    }

    fn of(&self, order: &Confinement) -> &Folded {
        self.0.get_or_init(|| {
            let configurations = order.repositories.iter().flat_map(|repository| {
                CONFIGURATIONS.map(|name| fold(&repository.git_dir.join(name)).into_owned())
            });
            let protected = order.rulings.iter().enumerate().filter(|(_, it)| it.access != Access::Write);
            Folded {
                must_not_exist: order
                    .must_not_exist
                    .iter()
                    .map(|must_not_exist| fold(&must_not_exist.path).into_owned())
                    .collect(),
                protected: protected.map(|(place, it)| (place, fold(&it.path).into_owned())).collect(),
                configurations: configurations.collect(),
            }
        })
    }
}

/// A path in a form that is equal for all paths that a file system without case may take for the same.
pub(super) fn fold(path: &Path) -> Cow<'_, [u8]> {
    let bytes = path.as_os_str().as_bytes();
    if !bytes.iter().any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii()) {
        return Cow::Borrowed(bytes);
    }
    let text = String::from_utf8_lossy(bytes);
    let upper = text.chars().filter(|char| !is_ignored(*char)).flat_map(char::to_uppercase);
    Cow::Owned(upper.flat_map(char::to_lowercase).collect::<String>().into_bytes())
}

/// Whether a folded path is another one, or below it.
pub(super) fn is_at_or_below(path: &[u8], above: &[u8]) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || above.ends_with(b"/"))
}

/// Invisible characters, which ext4 ignores when it compares names without case.
fn is_ignored(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsStr;

    #[test]
    fn names_that_a_file_system_can_take_for_one_are_one() {
        let check = |name: &str, other: &str, expected| {
            assert_eq!(fold(Path::new(name)) == fold(Path::new(other)), expected, "{name} {other}");
        };
        check("/w/.GIT/Hooks", "/w/.git/hooks", true);
        check("/w/.g\u{200d}it", "/w/.git", true);
        check("/w/.git/hoo\u{212a}s", "/w/.git/hooks", true);
        check("/w/.git/hook\u{17f}", "/w/.git/hooks", true);
        check("/w/.gît", "/w/.git", false);
        check("/w/.git", "/w/git", false);
    }

    #[test]
    fn what_is_below_is_told_by_whole_names() {
        let check = |path: &str, above: &str, expected| {
            assert_eq!(is_at_or_below(path.as_bytes(), above.as_bytes()), expected, "{path} {above}");
        };
        check("/w/a", "/w/a", true);
        check("/w/a/b", "/w/a", true);
        check("/w/ab", "/w/a", false);
        check("/w", "/", true);
    }

    proptest! {
        #[test]
        fn folding_a_second_time_changes_nothing(name in "[a-zA-Zäßſ/.]{0,20}") {
            let once = fold(Path::new(&name)).into_owned();
            prop_assert_eq!(fold(Path::new(OsStr::from_bytes(&once))).into_owned(), once.clone());
        }
    }
}
