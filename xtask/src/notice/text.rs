//! A licence text, with the lines about the copyright taken apart from the terms.

/// The text of a licence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LicenceText {
    /// The lines that say who has the copyright.
    pub(super) copyrights: Vec<String>,
    /// All other lines.
    pub(super) body: String,
}

impl LicenceText {
    pub(super) fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim_end);
        let (copyrights, terms): (Vec<&str>, Vec<&str>) = lines.partition(|line| is_copyright(line));
        let mut body: Vec<&str> = Vec::new();
        for line in terms {
            // One empty line says as much as several, and none is needed at the beginning.
            let is_repeated = line.is_empty() && body.last().is_none_or(|last| last.is_empty());
            if !is_repeated {
                body.push(line);
            }
        }
        let copyrights = copyrights.iter().map(|line| line.trim().to_owned()).collect();
        Self { copyrights, body: body.join("\n").trim_end().to_owned() }
    }

    /// The terms, such that two texts that differ in layout or title alone are the same.
    pub(super) fn comparable(&self) -> String {
        let lines = self.body.lines().filter(|line| !is_title(line));
        let words = lines.flat_map(str::split_whitespace).map(str::to_lowercase);
        words.map(|word| word.replace(['"', '\'', '*', '“', '”'], "")).collect::<Vec<_>>().join(" ")
    }
}

fn is_copyright(line: &str) -> bool {
    let line = line.trim();
    ["Copyright ", "© ", "(c) "].iter().any(|beginning| line.starts_with(beginning))
}

fn is_title(line: &str) -> bool {
    let line = line.trim().trim_start_matches('#').trim().trim_end_matches(':').to_lowercase();
    matches!(line.as_str(), "mit license" | "the mit license (mit)" | "the mit license" | "mit license (mit)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_same_whatever_their_title_layout_and_copyright() {
        let one = LicenceText::parse(
            "MIT License\n\nCopyright (c) 2020 Ada\n\nPermission is \"hereby\"\ngranted.\n",
        );
        let other =
            LicenceText::parse("Copyright 2021 Grace\nCopyright 2022 Ada\n\n\nPermission is hereby granted.");
        assert_eq!(one.comparable(), other.comparable());
        assert_eq!(one.copyrights, ["Copyright (c) 2020 Ada"]);
        assert_eq!(other.copyrights, ["Copyright 2021 Grace", "Copyright 2022 Ada"]);
        assert_eq!(one.body, "MIT License\n\nPermission is \"hereby\"\ngranted.");
        let third = LicenceText::parse("Permission is not granted.");
        assert_ne!(one.comparable(), third.comparable());
    }
}
