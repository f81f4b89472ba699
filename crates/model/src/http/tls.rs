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
    let mut configuration = builder.with_root_certificates(roots(extra_roots)?).with_no_client_auth();
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(configuration)
}

fn roots(extra: Option<&str>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
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
