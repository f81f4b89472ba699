//! Encryption: whom we trust, and what went wrong when we do not.

use std::io;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// Makes the configuration. Certificates of the machine that cannot be read are passed over; extra ones must be good.
pub(super) fn configuration(extra_roots: Option<&str>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let roots = roots(rustls_native_certs::load_native_certs().certs, extra_roots)?;
    let mut configuration = builder.with_root_certificates(roots).with_no_client_auth();
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(configuration)
}

/// Those of the machine, or of a list of our own where it has none, and the extra ones.
fn roots(machine: Vec<CertificateDer<'static>>, extra: Option<&str>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(machine);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for certificate in CertificateDer::pem_slice_iter(extra.unwrap_or_default().as_bytes()) {
        let certificate =
            certificate.map_err(|error| format!("an extra certificate cannot be read: {error}"))?;
        roots.add(certificate).map_err(|error| format!("an extra certificate is no good: {error}"))?;
    }
    Ok(roots)
}

/// Whether we refused the other side for what it showed, which it will show again.
pub(super) fn is_distrust(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> rcgen::Certificate {
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap().cert
    }

    #[test]
    fn a_machine_without_certificates_is_given_a_list() {
        let count = |machine, extra| roots(machine, extra).map(|roots| roots.len());
        let bundled = webpki_roots::TLS_SERVER_ROOTS.len();
        let pem = certificate().pem();
        assert_eq!(count(Vec::new(), None), Ok(bundled));
        assert_eq!(count(Vec::new(), Some(&pem)), Ok(bundled + 1));
        assert_eq!(count(vec![certificate().der().clone()], None), Ok(1));
        assert_eq!(count(vec![certificate().der().clone()], Some(&pem)), Ok(2));
        assert_eq!(
            count(vec![CertificateDer::from(vec![1, 2, 3])], None),
            Ok(bundled),
            "what cannot be read is none"
        );
    }

    /// Mozilla admitted one of these authorities after the list of 2025, and stopped trusting the other for servers.
    #[test]
    fn the_list_for_machines_without_one_is_current() {
        let roots = roots(Vec::new(), None).unwrap();
        let trusts = |name: &str| {
            let is_named = |subject: &[u8]| subject.windows(name.len()).any(|part| part == name.as_bytes());
            roots.roots.iter().any(|root| is_named(&root.subject))
        };
        assert!(trusts("SwissSign RSA TLS Root CA 2022 - 1"));
        assert!(!trusts("Entrust Root Certification Authority - G2"));
        assert!(trusts("ISRG Root X1"));
    }
}
