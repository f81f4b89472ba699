//! The words that stand for a choice in a configuration file, each an enum with its words beside it, so that the file,
//! the messages and the types cannot drift apart.

/// An enum of words. After a word and `|` come others that mean the same and are accepted.
macro_rules! choice {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal $(| $other:literal)*),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// What may be written, and the word that it stands for.
            pub(crate) const WORDS: &'static [(&'static str, &'static str)] =
                &[$(($word, $word), $(($other, $word),)*)+];

            /// The word for it in a file.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// What a word stands for.
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
    /// Which protocol a provider speaks.
    WireApi {
        /// `POST {base_url}/responses`.
        Responses = "responses",
        /// `POST {base_url}/chat/completions`.
        Chat = "chat" | "chat_completions",
    }
}

choice! {
    /// Under which role a chat provider takes instructions.
    InstructionsRole {
        /// The role `developer`.
        Developer = "developer",
        /// The role `system`, which older servers want.
        System = "system",
    }
}

choice! {
    /// How long a model thinks.
    Effort {
        /// Not at all.
        None = "none",
        /// As little as it can.
        Minimal = "minimal",
        /// A little.
        Low = "low",
        /// As it was made to.
        Medium = "medium",
        /// Long.
        High = "high",
        /// As long as it can.
        XHigh = "xhigh" | "max",
    }
}

choice! {
    /// Whether a model tells what it thought.
    Summary {
        /// As the provider likes.
        Auto = "auto",
        /// In a few words.
        Concise = "concise",
        /// In many.
        Detailed = "detailed",
        /// Not at all.
        None = "none",
    }
}

choice! {
    /// How many words a model makes.
    Verbosity {
        /// Few.
        Low = "low",
        /// As it was made to.
        Medium = "medium",
        /// Many.
        High = "high",
    }
}

choice! {
    /// When a person is asked before something is done.
    ApprovalPolicy {
        /// Unless a rule allows it.
        Untrusted = "untrusted",
        /// When the model asks to leave the sandbox.
        OnRequest = "on-request" | "on-failure",
        /// Never; what would need an answer is refused.
        Never = "never",
    }
}

choice! {
    /// What commands may touch.
    SandboxMode {
        /// They may read.
        ReadOnly = "read-only",
        /// They may also write below the working directory and other listed places.
        WorkspaceWrite = "workspace-write",
        /// Nothing is kept from them, because something outside of Windlass confines them.
        External = "external",
        /// Nothing is kept from them.
        FullAccess = "full-access" | "danger-full-access",
    }
}

choice! {
    /// How much of its environment the agent passes on to commands.
    Inherit {
        /// Everything that is not kept from them.
        All = "all",
        /// What a program needs to find its files: home, path, user, locale.
        Core = "core",
        /// Nothing.
        None = "none",
    }
}

choice! {
    /// Whether the provider's own web search is offered to the model.
    WebSearch {
        /// No.
        Disabled = "disabled",
        /// Of what the provider has stored.
        Cached = "cached",
        /// Of the web as it is now.
        Live = "live",
    }
}

choice! {
    /// Whether a call of a foreign tool needs a person's consent.
    ToolApproval {
        /// As the approval policy and the tool's own remarks say.
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
    /// Whether conversations are kept on disk.
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
