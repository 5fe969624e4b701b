//! The account of this process's user, as the account database has it. Asks the C library and not `/etc/passwd`, which on
//! macOS and with a directory service does not hold the account.

use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// The largest record that is taken, in bytes.
const LARGEST: usize = 1 << 20;

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The user's name.
    pub name: OsString,
    /// The home directory; may be empty or missing.
    pub home: PathBuf,
    /// The login shell; empty where the database leaves it to the system.
    pub shell: PathBuf,
}

/// The effective user's account, if it has one.
pub fn account() -> Option<Account> {
    let user = rustix::process::geteuid().as_raw();
    let mut buffer: Vec<libc::c_char> = vec![0; 1024];
    loop {
        let mut record = std::mem::MaybeUninit::<libc::passwd>::uninit();
        let mut found: *mut libc::passwd = std::ptr::null_mut();
        // SAFETY: every pointer is to a live local of the size told, and the call keeps none of them.
        let status = unsafe {
            libc::getpwuid_r(
                user,
                record.as_mut_ptr(),
                buffer.as_mut_ptr(),
                buffer.len(),
                &raw mut found,
            )
        };
        if status == libc::ERANGE && buffer.len() < LARGEST {
            buffer.resize(buffer.len() * 2, 0);
            continue;
        }
        if status != 0 || found.is_null() {
            return None;
        }
        // SAFETY: status 0 and a result that is not null mean that the record was filled in.
        let (name, home, shell) = unsafe { ((*found).pw_name, (*found).pw_dir, (*found).pw_shell) };
        // SAFETY: the record's strings are null or end in NUL and lie in `buffer`, which is alive and unchanged.
        let text = |text: *mut libc::c_char| unsafe {
            match text.is_null() {
                true => OsString::new(),
                false => OsStr::from_bytes(CStr::from_ptr(text).to_bytes()).to_owned(),
            }
        };
        return Some(Account {
            name: text(name),
            home: PathBuf::from(text(home)),
            shell: PathBuf::from(text(shell)),
        });
    }
}
