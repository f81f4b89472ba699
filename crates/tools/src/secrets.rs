//! Recognises variables that look like secrets, by their name or by their value. The one list for every way to start
//! commands: the tools, the agent, and the servers that start processes for others.
//!
//! It errs on the side of withholding: a variable too few is named in the reply and can be given explicitly, while one
//! too many is sent to a model's provider by the first command that prints its environment.

use std::ffi::OsStr;

/// Parts of names that stand for secrets, wherever they are.
const ANYWHERE: [&str; 17] = [
    "ACCESSKEY",
    "APIKEY",
    "BEARER",
    "CONNECTIONSTRING",
    "CONNECTION_STRING",
    "CONNSTR",
    "COOKIE",
    "CREDENTIAL",
    "DATABASE_URL",
    "KEY",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PRIVATE_PEM",
    "SECRET",
    "TOKEN",
    "WEBHOOK",
];

/// Words of names that stand for secrets: `GITHUB_PAT` has one, `PATH` and `PATTERN` do not.
const WORDS: [&str; 14] =
    ["CREDS", "DSN", "JWT", "MFA", "OTP", "PASS", "PAT", "PSK", "PW", "PWD", "SAS", "TOTP", "AUTHN", "CSRF"];

/// Names that only sound like secrets, each with the reason why commands get them.
const HARMLESS: [(&str, &str); 14] = [
    (
        "SSH_AUTH_SOCK",
        "the path of a socket: git over SSH needs it, and what listens there gives no key away",
    ),
    ("SSH_ASKPASS", "the path of a program"),
    ("GIT_ASKPASS", "the path of a program"),
    ("SUDO_ASKPASS", "the path of a program"),
    ("PWD", "the working directory"),
    ("OLDPWD", "the working directory before"),
    ("INIT_CWD", "a directory"),
    ("KEYTIMEOUT", "how long zsh waits for the rest of a key"),
    ("TOKENIZERS_PARALLELISM", "a switch of a library"),
    ("XKB_DEFAULT_KEYMAP", "a keyboard's layout"),
    ("KEYMAP", "a keyboard's layout"),
    ("KEYBOARD", "a keyboard's layout"),
    ("GNOME_KEYRING_CONTROL", "the path of a socket"),
    ("MAX_TOKENS", "a number"),
];

/// Whether commands get this variable only if the configuration or a call names it.
pub fn looks_secret(name: &OsStr, value: &OsStr) -> bool {
    is_secret_name(&name.to_string_lossy()) || holds_secret(&value.to_string_lossy())
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if HARMLESS.iter().any(|(harmless, _)| *harmless == name) {
        return false;
    }
    let mut words = name.split(|char: char| !char.is_ascii_alphanumeric());
    ANYWHERE.iter().any(|part| name.contains(part))
        || words.any(|word| WORDS.contains(&word))
        || speaks_of_authentication(&name)
}

/// `AUTH` and `AUTHORIZATION` do, the author of a commit and the file `XAUTHORITY` do not.
fn speaks_of_authentication(name: &str) -> bool {
    name.match_indices("AUTH").any(|(at, word)| {
        let rest = &name[at + word.len()..];
        !rest.starts_with("OR") || rest.starts_with("ORIZ") || rest.starts_with("ORIS")
    })
}

/// A private key, or a connection string with a password in it.
fn holds_secret(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.contains("PRIVATE KEY-----")
        || ["password=", "pwd="].iter().any(|field| lower.contains(field))
        || value.match_indices("://").any(|(at, mark)| has_password(&value[at + mark.len()..]))
}

/// `user:password@host`, up to the path.
fn has_password(address: &str) -> bool {
    let end = address.find(|char: char| char.is_whitespace() || matches!(char, '/' | '?' | '#' | '"' | '\''));
    let authority = &address[..end.unwrap_or(address.len())];
    let password = authority.rsplit_once('@').and_then(|(login, _)| login.split_once(':'));
    password.is_some_and(|(_, password)| !password.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(secret: bool, variables: &[(&str, &str)]) {
        for (name, value) in variables {
            assert_eq!(looks_secret(name.as_ref(), value.as_ref()), secret, "{name}={value}");
        }
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        let names = [
            "API_KEY",
            "openai_api_key",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "GH_TOKEN",
            "GITHUB_PAT",
            "AZURE_DEVOPS_EXT_PAT",
            "PGPASSWORD",
            "MYSQL_PWD",
            "DB_PASS",
            "BORG_PASSPHRASE",
            "DATABASE_URL",
            "TEST_DATABASE_URL",
            "SENTRY_DSN",
            "DSN",
            "NPM_CONFIG__AUTH",
            "DOCKER_AUTH_CONFIG",
            "BASIC_AUTH",
            "HTTP_AUTHORIZATION",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "AZURE_STORAGE_CONNECTION_STRING",
            "ConnectionStrings__Default",
            "SSH_PRIVATE_KEY",
            "SLACK_WEBHOOK_URL",
            "SESSION_COOKIE",
            "MY_JWT",
            "CI_BEARER",
            "ARM_CLIENT_SECRET",
            "VAULT_TOKEN",
            "WIFI_PSK",
        ];
        check(true, &names.map(|name| (name, "x")));
    }

    #[test]
    fn names_that_only_sound_like_secrets_are_none() {
        let names = [
            "SSH_AUTH_SOCK",
            "XAUTHORITY",
            "ICEAUTHORITY",
            "GIT_AUTHOR_NAME",
            "GIT_AUTHOR_EMAIL",
            "AUTHORS",
            "CARGO_PKG_AUTHORS",
            "PATH",
            "PATTERN",
            "MANPATH",
            "PWD",
            "OLDPWD",
            "SSH_ASKPASS",
            "HOME",
            "COMPASS",
            "PASSENGER_COUNT",
            "KEYTIMEOUT",
            "LS_COLORS",
            "XDG_SESSION_ID",
            "DBUS_SESSION_BUS_ADDRESS",
        ];
        check(false, &names.map(|name| (name, "x")));
    }

    #[test]
    fn secrets_are_known_by_their_values() {
        check(
            true,
            &[
                ("CACHE", "redis://:hunter2@localhost:6379/0"),
                ("STORE", "postgres://ada:hunter2@db.example.org/x?sslmode=require"),
                ("https_proxy", "http://ada:hunter2@proxy:3128"),
                ("PIP_INDEX", "--index https://ada:hunter2@pypi.example.org/simple"),
                ("STORE", "Server=db;User Id=ada;Password=hunter2;"),
                ("STORE", "host=db user=ada password=hunter2"),
                ("IDENTITY", "-----BEGIN OPENSSH PRIVATE KEY-----\nx"),
            ],
        );
        check(
            false,
            &[
                ("http_proxy", "http://proxy:3128"),
                ("REMOTE", "ssh://git@example.org/x.git"),
                ("PAGE", "https://example.org/a:b@c"),
                ("PAGE", "https://example.org:8080/@x"),
                ("STORE", "postgres://ada:@localhost/x"),
                ("TIME", "12:30@noon"),
            ],
        );
    }
}
