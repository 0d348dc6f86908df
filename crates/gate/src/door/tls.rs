//! Certificates and keys of listeners.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;

use crate::settings::Listen;

/// Reads a listener's certificate and key, where it has them. An error begins with the line that names them.
pub(crate) fn load(listen: &Listen) -> Result<Option<ServerConfig>, String> {
    let Some((certificate, key)) = &listen.tls else {
        return Ok(None);
    };
    read(certificate, key)
        .map(Some)
        .map_err(|error| format!("line {}: {error}", listen.line))
}

fn read(certificate: &Path, key: &Path) -> Result<ServerConfig, String> {
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| {
            format!(
                "{}: no certificate can be read: {error}",
                certificate.display()
            )
        })?;
    if certificates.is_empty() {
        return Err(format!(
            "{}: there is no certificate in it",
            certificate.display()
        ));
    }
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| format!("{}: no private key can be read: {error}", key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(certificates, private)
        .map_err(|error| format!("{} and {}: {error}", certificate.display(), key.display()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
