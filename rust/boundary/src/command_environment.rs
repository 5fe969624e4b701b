//! The environment that every command in a boundary gets: cleared, then the few variables that programs need, then the
//! policy's own.

use crate::points::Places;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// The programs' search path, and what NixOS has beside it.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const NIXOS_PROGRAMS: &str = "/run/current-system/sw/bin";

/// What every command gets, the policy's own last.
pub(crate) fn environment(places: &Places, added: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut path = SYSTEM_PATH.to_owned();
    if Path::new(NIXOS_PROGRAMS).is_dir() {
        path.push(':');
        path.push_str(NIXOS_PROGRAMS);
    }
    let user = account_name(rustix::process::geteuid().as_raw()).unwrap_or_else(|| OsString::from("agent"));
    let temporary = places.temporary.as_os_str();
    let usual = [
        ("PATH", OsString::from(path)),
        ("HOME", places.home.clone().into_os_string()),
        ("TMPDIR", temporary.to_owned()),
        ("TMP", temporary.to_owned()),
        ("TEMP", temporary.to_owned()),
        ("LANG", OsString::from("C.UTF-8")),
        ("USER", user.clone()),
        ("LOGNAME", user),
    ];
    usual
        .into_iter()
        .map(|(name, value)| (OsString::from(name), value))
        .chain(added)
        .collect()
}

/// The account's name in /etc/passwd. Other sources of accounts would be asked over the network, and may hang.
fn account_name(user: u32) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt;
    let accounts = fs::read("/etc/passwd").ok()?;
    accounts.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let name = fields.next()?;
        let number = std::str::from_utf8(fields.nth(1)?).ok()?;
        (number.parse() == Ok(user)).then(|| OsString::from_vec(name.to_vec()))
    })
}
