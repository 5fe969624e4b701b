//! Which of nvm's installed Node versions a shell would use: the one its `default` alias names exactly or by leading
//! numbers, else the newest. Aliases of aliases (`lts/*`) are not followed: they too end in the newest.

use super::view::HostView;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

type Version = Vec<u64>;

/// The programs of the default version.
pub(super) fn default_programs(nvm: &Path, view: &dyn HostView) -> Option<PathBuf> {
    let versions = nvm.join("versions/node");
    let mut installed: Vec<(Version, OsString)> = view
        .list_directory(&versions)
        .into_iter()
        .filter_map(|name| Some((version(name.to_str()?.strip_prefix('v')?)?, name)))
        .collect();
    installed.sort();
    let alias = view.read_text(&nvm.join("alias/default")).unwrap_or_default();
    let wanted = version(alias.trim().trim_start_matches('v')).unwrap_or_default();
    let chosen = installed
        .iter()
        .rfind(|(version, _)| version.starts_with(&wanted))
        .or(installed.last())?;
    Some(versions.join(&chosen.1).join("bin"))
}

/// `20.11.1` as numbers: so `2` does not begin `20`, and 20 is newer than 9.
fn version(text: &str) -> Option<Version> {
    text.split('.').map(|number| number.parse().ok()).collect()
}
