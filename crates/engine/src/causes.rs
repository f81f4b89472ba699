//! An error with its causes, in one line. The `Display` of an error says what was tried; only its sources say why that
//! failed, so a note that shows the first alone does not help its reader.

use std::error::Error;

/// The error, followed by its causes down to the first.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        // Some errors repeat their source in their own words.
        if !text.ends_with(&words) {
            text = format!("{text}: {words}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WriteRecord;

    #[test]
    fn the_cause_of_a_failed_record_is_said_with_it() {
        let source = std::io::Error::from_raw_os_error(28);
        let error = WriteRecord { path: "/state/1001.rec".into(), source };
        let text = with_causes(&error);
        assert_eq!(text, "writing the record /state/1001.rec: No space left on device (os error 28)");
    }
}
