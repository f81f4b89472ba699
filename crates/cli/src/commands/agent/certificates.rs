//! The certificates that the agent trusts: those that SSL_CERT_FILE and SSL_CERT_DIR name, as in OpenSSL and the
//! programs that are built on it, or those of the machine.

use windlass_llm::Certificates;

use crate::config::Config;

/// The files that the environment names.
pub(super) fn named(config: &Config) -> Certificates {
    let directories = config.variable("SSL_CERT_DIR").map(std::env::split_paths);
    let directories = directories.into_iter().flatten().filter(|path| !path.as_os_str().is_empty());
    Certificates {
        file: config.variable("SSL_CERT_FILE").map(Into::into),
        directories: directories.collect(),
    }
}
