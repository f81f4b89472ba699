//! Removes secrets from messages: a provider's error may repeat the headers or the key that it received.

use crate::provider::{Key, Provider};

/// A shorter value is not taken for a secret: hiding it would spoil words that happen to contain it.
const SHORTEST: usize = 6;

/// The secrets of a provider.
pub(super) struct Secrets(Vec<Key>);

impl Secrets {
    pub(super) fn of(provider: &Provider) -> Self {
        let proxy = provider.proxy.iter().filter_map(|proxy| proxy.credentials.clone());
        let added = provider.headers.iter().map(|(_, value)| value.clone());
        // A header may hold `Bearer` and the key behind it.
        let words =
            |(_, value): &(String, Key)| value.reveal().split_whitespace().map(Key::new).collect::<Vec<_>>();
        let words = provider.headers.iter().flat_map(words);
        let all = provider.key.clone().into_iter().chain(proxy).chain(added).chain(words);
        let mut secrets: Vec<Key> = all.filter(|key| key.reveal().len() >= SHORTEST).collect();
        // A secret that contains another one is replaced first, or a part of it would be left.
        secrets.sort_by_key(|key| std::cmp::Reverse(key.reveal().len()));
        Self(secrets)
    }

    /// The text without the secrets.
    pub(super) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, key| text.replace(key.reveal(), "(hidden)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::WireKind;

    #[test]
    fn secrets_are_taken_out_of_messages() {
        let mut provider = Provider::at("it", "http://it", WireKind::Chat);
        provider.key = Some(Key::new("sk-123456"));
        provider.headers = vec![("x-auth".to_owned(), Key::new("Bearer other-secret"))];
        let secrets = Secrets::of(&provider);
        assert_eq!(secrets.hide("sk-123456! other-secret? sk-1"), "(hidden)! (hidden)? sk-1");
    }
}
