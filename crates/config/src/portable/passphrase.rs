//! A passphrase in memory: debug output does not show it, and it is wiped when it is dropped.

use std::fmt;

use zeroize::Zeroizing;

/// The passphrase of an exported file.
#[derive(Clone)]
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Passphrase {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl From<&str> for Passphrase {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

#[cfg(test)]
mod tests {
    use windlass_testkit::memory::MaskedText;

    use super::*;
    use crate::portable::age;
    use crate::portable::{ExportOptions, Secrets, WorkFactor};

    const TEXT: MaskedText<64> =
        MaskedText::new(b"a passphrase for a test, which no person has to type: 4711 4712!");

    #[test]
    fn a_passphrase_is_not_shown() {
        let passphrase = Passphrase::from("correct horse");
        let options = ExportOptions { passphrase, secrets: Secrets::LeaveOut, work: WorkFactor(1) };
        assert!(!format!("{options:?}").contains("horse"), "{options:?}");
    }

    #[test]
    fn a_passphrase_is_wiped_from_memory_after_its_use() {
        let passphrase = Passphrase::from(TEXT.reveal());
        let file = age::encrypt(b"plain", &passphrase, WorkFactor(1)).unwrap();
        assert_eq!(age::decrypt(&file, &passphrase).unwrap().as_slice(), b"plain");
        assert!(TEXT.is_in_memory());
        drop(passphrase);
        assert!(!TEXT.is_in_memory());
    }
}
