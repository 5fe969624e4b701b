//! The ChatGPT login that the Codex program keeps: read anew before each request, never refreshed and never written, since
//! its refresh token works once and belongs to that program. Everything of it but the fingerprint of its account is secret.

use crate::error::Error;
use crate::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use coder_digest::{Timestamp, json};
use rustix::fs::OFlags;
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The longest login file.
const LOGIN_BYTES: json::Limit = json::Limit::COMMAND;
/// A login with less time left than this is refused, in seconds: a generation may take that long.
const LEAST_SECONDS: i64 = 600;

/// Where the login of this computer is, as its environment says: `$CODEX_HOME/auth.json`, else `~/.codex/auth.json`.
pub fn codex_login_path(environment: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let set = |name: &str| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("CODEX_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".codex")))
        .map(|directory| directory.join("auth.json"))
}

/// The fingerprint of the ChatGPT login of this computer, if a run could use it now.
///
/// # Errors
/// [`Error::Login`] saying what is wrong with it and what to do.
pub fn codex_login(environment: &dyn Fn(&str) -> Option<std::ffi::OsString>, now: Timestamp) -> Result<String, Error> {
    let nowhere = || "neither CODEX_HOME nor HOME is set, so there is no Codex login".to_owned();
    codex_login_path(environment)
        .ok_or_else(nowhere)
        .and_then(|path| read(&path, now))
        .map(|login| login_fingerprint("codex", &login.account, None))
        .map_err(|reason| Error::Login { reason })
}

/// A login that can be used now.
#[derive(Debug)]
pub(crate) struct Login {
    pub(crate) token: Secret,
    pub(crate) account: String,
}

/// Reads the login; the error is a sentence for the user and holds nothing of the file.
pub(crate) fn read(path: &Path, now: Timestamp) -> Result<Login, String> {
    let shown = path.display();
    let bytes = contents(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("there is no Codex login at {shown}: run `codex login`"),
        _ => format!("the Codex login at {shown} cannot be read: {error}"),
    })?;
    let damaged = || format!("the Codex login at {shown} is not what Codex writes: run `codex login`");
    let login = json::parse(&bytes, LOGIN_BYTES).map_err(|_| damaged())?;
    let text = |pointer: &str| {
        login
            .pointer(pointer)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    if text("/auth_mode").is_some_and(|mode| !mode.eq_ignore_ascii_case("chatgpt")) {
        return Err(format!(
            "the Codex login at {shown} is not a ChatGPT login: run `codex login` and choose ChatGPT, or use the provider `openai` with a key"
        ));
    }
    let (Some(token), Some(account)) = (text("/tokens/access_token"), text("/tokens/account_id")) else {
        return Err(match text("/OPENAI_API_KEY") {
            Some(_) => format!(
                "the Codex login at {shown} is an API key, which this provider does not take: use the provider `openai` with it"
            ),
            None => damaged(),
        });
    };
    match expiry(token) {
        Some(end) if end.saturating_sub(now.0 / 1000) > LEAST_SECONDS => Ok(Login {
            token: Secret::new(token),
            account: account.to_owned(),
        }),
        Some(_) => Err(format!(
            "the Codex login at {shown} is over or ends within ten minutes: run any `codex` command to renew it"
        )),
        None => Err(damaged()),
    }
}

/// The fingerprint of a login: tells two of one provider apart, and nothing comes back from it. `place` is its account or
/// endpoint.
pub fn login_fingerprint(provider: &str, place: &str, key: Option<&Secret>) -> String {
    let named = json::digest(&serde_json::json!({
        "provider": provider,
        "place": place,
        "key": key.map(Secret::expose),
    }));
    named.hex().to_string().chars().take(16).collect()
}

/// The end of a token in Unix seconds, as it says itself. Nobody verifies it here: the server does.
fn expiry(token: &str) -> Option<i64> {
    let payload = token.split('.').nth(1)?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?).ok()?;
    claims.get("exp")?.as_i64()
}

fn contents(path: &Path) -> io::Result<Vec<u8>> {
    // Without waiting: a pipe that nobody writes to would be opened for ever.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(LOGIN_BYTES.0 as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
#[path = "login_tests.rs"]
mod tests;
