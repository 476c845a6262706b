//! Which cryptography TLS uses: `ring`, which builds with a C compiler alone.

/// Chooses it for this process, unless the program that Baler is linked into has chosen already.
pub(super) fn choose_crypto() {
    let _chosen_before = rustls::crypto::ring::default_provider().install_default();
}
