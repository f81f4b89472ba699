//! Sets up the tools from the command line and the environment.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use windlass_tools::{
    EnvironmentPolicy, Inherit, Numbering, Profile, SecretVariables, ToolboxOptions, VariablePatterns,
};

use crate::args::{EnvironmentChange, InheritName, ProfileName, ToolWords};
use crate::config::Config;
use crate::confinement;

/// The options of a toolbox whose commands run in this directory.
pub(crate) fn options(words: &ToolWords, directory: PathBuf, config: &Config) -> Result<ToolboxOptions> {
    let mut options = ToolboxOptions::new(directory, config.environment.clone());
    options.shell = config.shell.clone().into();
    options.profile = match words.profile {
        ProfileName::Default => Profile::Default,
        ProfileName::Classic => Profile::Classic,
    };
    options.tokenizer = words.tokenizer.into();
    options.policy = policy(words)?;
    options.sandbox = confinement::policy(&words.sandbox)?;
    (options.kept, options.doors) = confinement::own_places(config);
    Ok(options)
}

/// The numbering of sessions: if several clients may share a server, the numbers cannot be guessed.
pub(crate) fn numbering(shared: bool) -> Numbering {
    if shared { Numbering::Secret } else { Numbering::Plain }
}

fn policy(words: &ToolWords) -> Result<EnvironmentPolicy> {
    let inherit = match words.env_inherit {
        InheritName::All => Inherit::All,
        InheritName::Core => Inherit::Core,
        InheritName::None => Inherit::None,
    };
    let mut policy = EnvironmentPolicy { inherit, ..EnvironmentPolicy::default() };
    let mut excluded: Vec<String> = Vec::new();
    if !words.env_exclude.is_empty() {
        policy.secrets = SecretVariables::PassedOn;
        excluded = words.env_exclude.iter().filter(|pattern| !pattern.is_empty()).cloned().collect();
    }
    for change in &words.env_set {
        match change {
            EnvironmentChange::Set(name, value) => policy.set.push((name.clone(), value.clone())),
            EnvironmentChange::Remove(name) => excluded.push(name.to_string_lossy().into_owned()),
        }
    }
    policy.exclude = VariablePatterns::parse(excluded)?;
    Ok(policy)
}

impl ToolWords {
    /// The same options as words of a command line, for another process.
    pub(crate) fn again(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut push = |name: &str, value: OsString| words.extend([name.into(), value]);
        push("--profile", value_name(&self.profile).into());
        push("--tokenizer", value_name(&self.tokenizer).into());
        push("--env-inherit", value_name(&self.env_inherit).into());
        self.env_exclude.iter().for_each(|pattern| push("--env-exclude", pattern.into()));
        self.env_set.iter().for_each(|change| push("--env-set", change_word(change)));
        self.limits.again().into_iter().for_each(|(name, value)| push(&name, value.into()));
        words.extend(self.sandbox.again());
        words
    }
}

fn change_word(change: &EnvironmentChange) -> OsString {
    match change {
        EnvironmentChange::Remove(name) => name.clone(),
        EnvironmentChange::Set(name, value) => {
            let mut word = name.clone();
            word.push("=");
            word.push(value);
            word
        }
    }
}

fn value_name(value: &impl clap::ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
