//! The HTTP client that every provider sends through: no redirect is followed, so a key goes to the named endpoint only, and
//! certificates are judged by the machine's own store. Requests and answers are the providers' own.

use crate::{Error, ProxyUse};
use std::time::Duration;

/// A client that gives up on a connection after `connect` and uses the proxies of the environment only where `proxy` says so.
///
/// # Errors
/// [`Error::Setup`] when TLS cannot be set up, say because the machine has no certificates.
pub(crate) fn http_client(connect: Duration, proxy: ProxyUse) -> Result<reqwest::Client, Error> {
    // For the whole process, once; a second caller finds the first one's, which is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(connect)
        .user_agent(concat!("microcoder/", env!("CARGO_PKG_VERSION")));
    builder = match proxy {
        ProxyUse::Never => builder.no_proxy(),
        ProxyUse::Environment => builder,
    };
    builder.build().map_err(|error| Error::Setup {
        reason: error.to_string(),
    })
}
