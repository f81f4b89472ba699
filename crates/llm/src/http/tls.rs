//! TLS: the trusted certificates, and the reasons of failed handshakes.

use std::io;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_native_certs::load_certs_from_paths;

use windlass_tls::Verifier;

use crate::provider::Certificates;

/// Makes the configuration. Certificates of the machine that cannot be read are ignored; extra ones must be valid.
pub(super) fn configuration(
    certificates: &Certificates,
    extra_roots: Option<&str>,
) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let trusted = Trusted::find(certificates, extra_roots)?;
    let verifier = Verifier::new(trusted.roots, trusted.certificates, provider)?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    let mut configuration = builder.with_no_client_auth();
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(configuration)
}

/// The trusted certificates, and the same as a store of roots.
struct Trusted {
    certificates: Vec<CertificateDer<'static>>,
    roots: RootCertStore,
}

impl Trusted {
    /// The certificates in the named files, else those of the machine, else the built-in list; and the extra ones.
    fn find(certificates: &Certificates, extra: Option<&str>) -> Result<Self, String> {
        let mut trusted = if certificates.are_named() {
            Self::named(certificates)?
        } else {
            Self::of_the_machine(rustls_native_certs::load_native_certs().certs)
        };
        for certificate in CertificateDer::pem_slice_iter(extra.unwrap_or_default().as_bytes()) {
            let certificate =
                certificate.map_err(|error| format!("an extra certificate cannot be read: {error}"))?;
            let added = trusted.roots.add(certificate.clone());
            added.map_err(|error| format!("an extra certificate is no good: {error}"))?;
            trusted.certificates.push(certificate);
        }
        Ok(trusted)
    }

    fn of_the_machine(certificates: Vec<CertificateDer<'static>>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        if roots.is_empty() {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        Self { certificates, roots }
    }

    /// Only those in the named files. A user who names some wants no others, so there is no list to fall back to.
    fn named(named: &Certificates) -> Result<Self, String> {
        let (mut certificates, mut errors) = (Vec::new(), Vec::new());
        let files = named.file.iter().map(|file| load_certs_from_paths(Some(file), None));
        let directories =
            named.directories.iter().map(|directory| load_certs_from_paths(None, Some(directory)));
        for found in files.chain(directories) {
            certificates.extend(found.certs);
            errors.extend(found.errors.into_iter().map(|error| error.to_string()));
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        if roots.is_empty() {
            let paths: Vec<String> =
                named.file.iter().chain(&named.directories).map(|path| path.display().to_string()).collect();
            let reason = errors.first().map(|error| format!(": {error}")).unwrap_or_default();
            return Err(format!("there is no usable certificate in {}{reason}", paths.join(" or ")));
        }
        Ok(Self { certificates, roots })
    }
}

/// Whether we rejected the server's certificate. A retry would see the same certificate.
pub(super) fn is_distrust(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    inner.is_some_and(windlass_tls::is_distrust)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use windlass_testkit::Scratch;

    use super::*;

    fn certificate() -> rcgen::Certificate {
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap().cert
    }

    #[test]
    fn a_machine_without_certificates_is_given_a_list() {
        let count = |machine| Trusted::of_the_machine(machine).roots.len();
        let bundled = webpki_roots::TLS_SERVER_ROOTS.len();
        assert_eq!(count(Vec::new()), bundled);
        assert_eq!(count(vec![certificate().der().clone()]), 1);
        let unreadable = vec![CertificateDer::from(vec![1, 2, 3])];
        assert_eq!(count(unreadable), bundled, "a certificate that cannot be read is none");
    }

    #[test]
    fn named_files_replace_the_machines_list_and_extra_ones_join_it() {
        let scratch = Scratch::new("certificates");
        let (file, directory) = (scratch.path().join("ca.pem"), scratch.path().join("more"));
        std::fs::write(&file, certificate().pem()).unwrap();
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("another.pem"), certificate().pem()).unwrap();
        let missing = scratch.path().join("missing");
        let count = |file: Option<&PathBuf>, directories: &[&PathBuf], extra: Option<&str>| {
            let directories = directories.iter().map(|&directory| directory.clone()).collect();
            let found = Trusted::find(&Certificates { file: file.cloned(), directories }, extra);
            found.map(|trusted| (trusted.roots.len(), trusted.certificates.len()))
        };
        let pem = certificate().pem();
        assert_eq!(count(Some(&file), &[], None), Ok((1, 1)));
        assert_eq!(count(None, &[&directory], None), Ok((1, 1)));
        assert_eq!(count(Some(&file), &[&directory, &missing], Some(&pem)), Ok((3, 3)));
        for (file, directories) in [(Some(&missing), &[][..]), (None, &[&missing][..])] {
            let error = count(file, directories, None).unwrap_err();
            assert!(error.contains("there is no usable certificate in /"), "{error}");
        }
    }

    /// Mozilla admitted one of these authorities after the list of 2025, and stopped trusting the other for servers.
    #[test]
    fn the_list_for_machines_without_one_is_current() {
        let roots = Trusted::of_the_machine(Vec::new()).roots;
        let trusts = |name: &str| {
            let is_named = |subject: &[u8]| subject.windows(name.len()).any(|part| part == name.as_bytes());
            roots.roots.iter().any(|root| is_named(&root.subject))
        };
        assert!(trusts("SwissSign RSA TLS Root CA 2022 - 1"));
        assert!(!trusts("Entrust Root Certification Authority - G2"));
        assert!(trusts("ISRG Root X1"));
    }
}
