//! The system calls of the children, as thin as they can be: no allocation, no lock, the `errno` as the error.
//! What they are used for, and in which order, is `step` and `privileges`; nothing here decides.

use std::ffi::{CStr, c_int, c_long, c_uint, c_void};
use std::mem::{size_of, zeroed};
use std::ptr;

/// What a system call gives: its value, or the `errno`.
pub(crate) type Called<T> = Result<T, i32>;

/// The current directory, as a descriptor that paths are relative to.
pub(crate) const HERE: c_int = libc::AT_FDCWD;

pub(crate) fn errno() -> i32 {
    // SAFETY: the location of `errno` is always valid for the calling thread.
    unsafe { *libc::__errno_location() }
}

pub(crate) fn checked(value: c_long) -> Called<c_int> {
    if value < 0 { Err(errno()) } else { Ok(value as c_int) }
}

/// A descriptor closed when it goes out of scope. `std`'s owned descriptor checks itself in debug builds with calls
/// that may abort loudly, which a child of a threaded program must not.
pub(crate) struct Descriptor(pub(crate) c_int);

impl Descriptor {
    pub(crate) fn raw(&self) -> c_int {
        self.0
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor was returned to us by the kernel and is closed once.
        unsafe { libc::close(self.0) };
    }
}

/// Mounts as mount(2) does. A null type, source or data is the empty option.
pub(crate) fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    data: Option<&CStr>,
) -> Called<()> {
    let pointer = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: every pointer is null or a NUL-terminated string that outlives the call.
    let value = unsafe {
        libc::mount(
            pointer(source),
            target.as_ptr(),
            pointer(kind),
            flags,
            pointer(data).cast::<c_void>(),
        )
    };
    checked(value.into()).map(drop)
}

/// Sets mount attributes on the mount of `path`, and with `recursive` on all beneath it.
pub(crate) fn set_attributes(directory: c_int, path: &CStr, recursive: Recursive, attributes: u64) -> Called<()> {
    // SAFETY: an all-zero structure asks for no change.
    let mut wanted: libc::mount_attr = unsafe { zeroed() };
    wanted.attr_set = attributes;
    change_attributes(directory, path, recursive, &wanted)
}

/// Lets a detached mount be written to; set-user-id bits and devices count for nothing there.
pub(crate) fn set_writable(tree: &Descriptor) -> Called<()> {
    // SAFETY: an all-zero structure asks for no change.
    let mut wanted: libc::mount_attr = unsafe { zeroed() };
    wanted.attr_clr = libc::MOUNT_ATTR_RDONLY;
    wanted.attr_set = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    change_attributes(tree.raw(), c"", Recursive::No, &wanted)
}

fn change_attributes(directory: c_int, path: &CStr, recursive: Recursive, wanted: &libc::mount_attr) -> Called<()> {
    let mut flags = libc::AT_EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW;
    if matches!(recursive, Recursive::Yes) {
        flags |= libc::AT_RECURSIVE;
    }
    // SAFETY: the path and the structure outlive the call, and the size is the structure's own.
    let value = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            directory,
            path.as_ptr(),
            flags as c_uint,
            ptr::from_ref(wanted),
            size_of::<libc::mount_attr>(),
        )
    };
    checked(value).map(drop)
}

/// Whether an act reaches the mounts beneath.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recursive {
    Yes,
    No,
}

/// Opens a path as a mere reference (`O_PATH`), refusing every symbolic link on the way.
pub(crate) fn open_reference(directory: c_int, path: &CStr) -> Called<Descriptor> {
    // SAFETY: an all-zero structure is a valid start.
    let mut how: libc::open_how = unsafe { zeroed() };
    how.flags = (libc::O_PATH | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_NO_SYMLINKS;
    // SAFETY: the path and the structure outlive the call, and the size is the structure's own.
    let value = unsafe {
        libc::syscall(
            libc::SYS_openat2,
            directory,
            path.as_ptr(),
            &raw const how,
            size_of::<libc::open_how>(),
        )
    };
    checked(value).map(Descriptor)
}

/// Device and inode of an open file.
pub(crate) fn identity(file: &Descriptor) -> Called<(u64, u64)> {
    // SAFETY: an all-zero structure is overwritten by the call.
    let mut status: libc::stat = unsafe { zeroed() };
    // SAFETY: the structure outlives the call.
    checked(unsafe { libc::fstat(file.raw(), &raw mut status) }.into())?;
    Ok((status.st_dev, status.st_ino))
}

/// A detached copy of the mounts at and beneath an open path.
pub(crate) fn clone_tree(file: &Descriptor) -> Called<Descriptor> {
    let flags = libc::OPEN_TREE_CLONE
        | libc::OPEN_TREE_CLOEXEC as c_uint
        | libc::AT_EMPTY_PATH as c_uint
        | libc::AT_RECURSIVE as c_uint;
    // SAFETY: the empty path is a static string.
    let value = unsafe { libc::syscall(libc::SYS_open_tree, file.raw(), c"".as_ptr(), flags) };
    checked(value).map(Descriptor)
}

/// A detached, empty filesystem in memory with these mount attributes.
pub(crate) fn new_tmpfs(attributes: u64) -> Called<Descriptor> {
    let none: c_int = 0;
    // SAFETY: the name is a static string.
    let context = checked(unsafe { libc::syscall(libc::SYS_fsopen, c"tmpfs".as_ptr(), libc::FSOPEN_CLOEXEC) })?;
    let context = Descriptor(context);
    // SAFETY: key and value are static strings.
    checked(unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context.raw(),
            libc::FSCONFIG_SET_STRING,
            c"mode".as_ptr(),
            c"0555".as_ptr(),
            none,
        )
    })?;
    // SAFETY: this command takes neither key nor value.
    checked(unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context.raw(),
            libc::FSCONFIG_CMD_CREATE,
            ptr::null::<c_void>(),
            ptr::null::<c_void>(),
            none,
        )
    })?;
    // SAFETY: no pointer is passed.
    checked(unsafe {
        libc::syscall(
            libc::SYS_fsmount,
            context.raw(),
            libc::FSMOUNT_CLOEXEC,
            attributes as c_uint,
        )
    })
    .map(Descriptor)
}

/// Attaches a detached mount at an open path.
pub(crate) fn attach(tree: &Descriptor, target: &Descriptor) -> Called<()> {
    let flags = libc::MOVE_MOUNT_F_EMPTY_PATH | libc::MOVE_MOUNT_T_EMPTY_PATH;
    // SAFETY: the empty paths are static strings.
    let value = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.raw(),
            c"".as_ptr(),
            target.raw(),
            c"".as_ptr(),
            flags,
        )
    };
    checked(value).map(drop)
}

/// Makes a directory; one that is there already is as good.
pub(crate) fn make_directory(path: &CStr, mode: libc::mode_t) -> Called<()> {
    // SAFETY: the path outlives the call.
    existing_is_fine(checked(unsafe { libc::mkdir(path.as_ptr(), mode) }.into()))
}

/// Makes an empty regular file; one that is there already is as good.
pub(crate) fn make_file(path: &CStr, mode: libc::mode_t) -> Called<()> {
    // SAFETY: the path outlives the call.
    existing_is_fine(checked(
        unsafe { libc::mknod(path.as_ptr(), libc::S_IFREG | mode, 0) }.into(),
    ))
}

/// Sets the permissions of a path of our own making.
pub(crate) fn change_mode(path: &CStr, mode: libc::mode_t) -> Called<()> {
    // SAFETY: the path outlives the call.
    checked(unsafe { libc::chmod(path.as_ptr(), mode) }.into()).map(drop)
}

/// Makes a symbolic link.
pub(crate) fn make_link(content: &CStr, path: &CStr) -> Called<()> {
    // SAFETY: both strings outlive the call.
    checked(unsafe { libc::symlink(content.as_ptr(), path.as_ptr()) }.into()).map(drop)
}

/// Makes a file with this content.
pub(crate) fn create_file(path: &CStr, content: &[u8], mode: libc::mode_t) -> Called<()> {
    if content.is_empty() {
        return make_file(path, mode);
    }
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: the path outlives the call.
    let file = Descriptor(checked(unsafe { libc::open(path.as_ptr(), flags, mode) }.into())?);
    write_whole(&file, content)
}

fn existing_is_fine(made: Called<c_int>) -> Called<()> {
    match made {
        Ok(_) | Err(libc::EEXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Writes a whole line to an existing file in one call.
pub(crate) fn write_file(path: &CStr, line: &[u8]) -> Called<()> {
    // SAFETY: the path outlives the call.
    let file = Descriptor(checked(
        unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) }.into(),
    )?);
    write_whole(&file, line)
}

fn write_whole(file: &Descriptor, bytes: &[u8]) -> Called<()> {
    // SAFETY: the buffer outlives the call and its length is its own.
    let written = unsafe { libc::write(file.raw(), bytes.as_ptr().cast(), bytes.len()) };
    match usize::try_from(written) {
        Ok(count) if count == bytes.len() => Ok(()),
        Ok(_) => Err(libc::ENOSPC),
        Err(_) => Err(errno()),
    }
}

/// Enters a directory.
pub(crate) fn change_directory(path: &CStr) -> Called<()> {
    // SAFETY: the path outlives the call.
    checked(unsafe { libc::chdir(path.as_ptr()) }.into()).map(drop)
}

/// Makes the current directory the root and detaches the old one with everything in it.
pub(crate) fn pivot_here() -> Called<()> {
    // SAFETY: the paths are static strings. Both being `.` stacks the old root over the new one, whence it is detached.
    checked(unsafe { libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) })?;
    // SAFETY: the path is a static string.
    checked(unsafe { libc::umount2(c".".as_ptr(), libc::MNT_DETACH) }.into())?;
    change_directory(c"/")
}

/// Brings the loopback interface of this network namespace up.
pub(crate) fn loopback_up() -> Called<()> {
    // SAFETY: no pointer is passed.
    let socket = checked(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) }.into())?;
    let socket = Descriptor(socket);
    // SAFETY: an all-zero structure is a valid start.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = *byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the structure outlives the call and is the one this request takes.
    checked(unsafe { libc::ioctl(socket.raw(), libc::SIOCSIFFLAGS, &raw const request) }.into()).map(drop)
}

/// A process control of four plain numbers.
pub(crate) fn control(option: c_int, second: libc::c_ulong, third: libc::c_ulong) -> Called<c_int> {
    let zero: libc::c_ulong = 0;
    // SAFETY: the options used here take numbers only.
    checked(unsafe { libc::prctl(option, second, third, zero, zero) }.into())
}

/// Gives up every permitted, effective and inheritable capability.
pub(crate) fn clear_capabilities() -> Called<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        process: c_int,
    }
    // _LINUX_CAPABILITY_VERSION_3: two words for each of the three sets.
    let header = Header {
        version: 0x2008_0522,
        process: 0,
    };
    let none = [0_u32; 6];
    // SAFETY: header and data have the layout of this version and outlive the call.
    checked(unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) }).map(drop)
}

/// Installs a seccomp filter on the calling thread.
pub(crate) fn install_filter(program: &[seccompiler::sock_filter]) -> Called<()> {
    let Ok(length) = libc::c_ushort::try_from(program.len()) else {
        return Err(libc::EINVAL);
    };
    let program = libc::sock_fprog {
        len: length,
        filter: program.as_ptr().cast_mut().cast(),
    };
    let flags: c_uint = 0;
    // SAFETY: the program outlives the call; both filter types have the kernel's layout of eight bytes.
    let value = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    };
    checked(value).map(drop)
}

/// The newest Landlock ABI of the kernel.
pub(crate) fn landlock_abi() -> Called<i32> {
    const VERSION: c_uint = 1;
    let size: usize = 0;
    // SAFETY: a null pointer of size zero is what this query takes.
    checked(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<c_void>(), size, VERSION) })
}

/// The attributes of a ruleset as of Landlock's ABI 6.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handled {
    pub(crate) filesystem: u64,
    pub(crate) network: u64,
    pub(crate) scoped: u64,
}

/// Makes a ruleset. `size` is as much of the structure as the kernel knows.
pub(crate) fn landlock_create(handled: &Handled, size: usize) -> Called<Descriptor> {
    let flags: c_uint = 0;
    // SAFETY: the structure outlives the call and `size` is at most its size.
    checked(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const *handled, size, flags) })
        .map(Descriptor)
}

/// Allows `access` at and beneath an open path.
pub(crate) fn landlock_allow(ruleset: &Descriptor, path: &Descriptor, access: u64) -> Called<()> {
    #[repr(C, packed)]
    struct PathBeneath {
        access: u64,
        parent: c_int,
    }
    const PATH_BENEATH: c_uint = 1;
    let rule = PathBeneath {
        access,
        parent: path.raw(),
    };
    let flags: c_uint = 0;
    // SAFETY: the rule has the kernel's packed layout and outlives the call.
    let value = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.raw(),
            PATH_BENEATH,
            &raw const rule,
            flags,
        )
    };
    checked(value).map(drop)
}

/// Puts the calling thread under a ruleset.
pub(crate) fn landlock_restrict(ruleset: &Descriptor) -> Called<()> {
    let flags: c_uint = 0;
    // SAFETY: no pointer is passed.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.raw(), flags) }).map(drop)
}

/// Opens a path inside the finished root as a reference, links followed.
pub(crate) fn open_inside(path: &CStr) -> Called<Descriptor> {
    // SAFETY: the path outlives the call.
    checked(unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) }.into()).map(Descriptor)
}
