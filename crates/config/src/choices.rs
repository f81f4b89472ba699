//! The enums of a configuration file, each variant with its words beside it, so that the file, the messages and the
//! types cannot drift apart.

/// Defines an enum whose variants are words of the file. Words after a `|` are accepted as synonyms.
macro_rules! choice {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal $(| $other:literal)*),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// The accepted words, each with the canonical word that it stands for.
            pub(crate) const WORDS: &'static [(&'static str, &'static str)] =
                &[$(($word, $word), $(($other, $word),)*)+];

            /// The canonical word in a file.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Parses a word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word $(| $other)* => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

choice! {
    /// The protocol of a provider.
    WireApi {
        /// `POST {base_url}/responses`.
        Responses = "responses",
        /// `POST {base_url}/chat/completions`.
        Chat = "chat" | "chat_completions",
    }
}

choice! {
    /// The role under which a chat provider accepts instructions.
    InstructionsRole {
        /// The role `developer`.
        Developer = "developer",
        /// The role `system`, which older servers expect.
        System = "system",
    }
}

choice! {
    /// The reasoning effort of a model.
    Effort {
        /// No reasoning.
        None = "none",
        /// As little as possible.
        Minimal = "minimal",
        /// Little.
        Low = "low",
        /// The usual amount.
        Medium = "medium",
        /// Much.
        High = "high",
        /// As much as possible.
        XHigh = "xhigh" | "max",
    }
}

choice! {
    /// The summary of its reasoning that a model gives.
    Summary {
        /// The provider decides.
        Auto = "auto",
        /// A short one.
        Concise = "concise",
        /// A long one.
        Detailed = "detailed",
        /// None.
        None = "none",
    }
}

choice! {
    /// The length of a model's messages.
    Verbosity {
        /// Short.
        Low = "low",
        /// The usual length.
        Medium = "medium",
        /// Long.
        High = "high",
    }
}

choice! {
    /// When the user is asked for approval.
    ApprovalPolicy {
        /// Unless a rule allows it.
        Untrusted = "untrusted",
        /// When the model asks to leave the sandbox.
        OnRequest = "on-request" | "on-failure",
        /// Never. An operation that would need approval is refused.
        Never = "never",
    }
}

choice! {
    /// The access that commands have.
    SandboxMode {
        /// Read only.
        ReadOnly = "read-only",
        /// Also write below the working directory and in further listed directories.
        WorkspaceWrite = "workspace-write",
        /// Unrestricted here, because something outside of Windlass confines the commands.
        External = "external",
        /// Unrestricted.
        FullAccess = "full-access" | "danger-full-access",
    }
}

choice! {
    /// The part of its environment that the agent passes on to commands.
    Inherit {
        /// All variables that are not withheld.
        All = "all",
        /// The variables that a program needs to find its files: home, path, user, locale.
        Core = "core",
        /// None.
        None = "none",
    }
}

choice! {
    /// Whether the provider's own web search is offered to the model.
    WebSearch {
        /// It is not offered.
        Disabled = "disabled",
        /// Over the provider's cache.
        Cached = "cached",
        /// Over the live web.
        Live = "live",
    }
}

choice! {
    /// Whether a call of an MCP server's tool needs the user's approval.
    ToolApproval {
        /// As the approval policy and the tool's own hints say.
        Auto = "auto",
        /// Always.
        Prompt = "prompt",
        /// Never.
        Approve = "approve",
    }
}

choice! {
    /// Whether a project may contribute configuration, instructions and skills.
    TrustLevel {
        /// It may.
        Trusted = "trusted",
        /// It may not.
        Untrusted = "untrusted",
    }
}

choice! {
    /// Whether conversations are stored on disk.
    HistoryPersistence {
        /// They are.
        SaveAll = "save-all",
        /// They are not.
        None = "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_their_aliases_lead_to_the_same_choice() {
        assert_eq!(ApprovalPolicy::from_word("on-failure"), Some(ApprovalPolicy::OnRequest));
        assert_eq!(SandboxMode::from_word("danger-full-access"), Some(SandboxMode::FullAccess));
        assert_eq!(WireApi::from_word("soap"), None);
        for (written, word) in Effort::WORDS {
            assert_eq!(Effort::from_word(written).map(Effort::word), Some(*word));
        }
    }
}
