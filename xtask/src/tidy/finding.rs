//! A finding: a line of the workspace that breaks a rule.

use std::fmt;

/// A place, the rule it breaks, and what to do about it. Ordered by place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    rule: &'static str,
    advice: String,
    severity: Severity,
}

/// Whether a finding fails the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Warning,
    Fault,
}

impl Finding {
    pub(crate) fn fault(rule: &'static str, (path, line): (&str, usize), advice: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, rule, advice: advice.into(), severity: Severity::Fault }
    }

    pub(crate) fn warning(rule: &'static str, place: (&str, usize), advice: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::fault(rule, place, advice) }
    }

    pub(crate) fn is_fault(&self) -> bool {
        self.severity == Severity::Fault
    }

    /// Where, and which rule, without the advice.
    #[cfg(test)]
    pub(crate) fn place(&self) -> String {
        format!("{}:{}: {}", self.path, self.line, self.rule)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, advice, severity } = self;
        let prefix = match severity {
            Severity::Warning => "warning: ",
            Severity::Fault => "",
        };
        write!(f, "{path}:{line}: {prefix}{rule}: {advice}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_place_rule_and_advice() {
        let fault = Finding::fault("length", ("a/b.rs", 7), "split it");
        assert_eq!(fault.to_string(), "a/b.rs:7: length: split it");
        let warning = Finding::warning("length", ("a/b.rs", 7), "split it");
        assert_eq!(warning.to_string(), "a/b.rs:7: warning: length: split it");
    }
}
