//! The system calls of the children, as thin as they can be: no library function, no allocation, no lock, the `errno` as
//! the error. What they are used for, and in which order, is `step` and `confinement`; nothing here decides.

use coder_process::system_call;
use std::ffi::{CStr, CString, c_int, c_long, c_uint};
use std::mem::{size_of, zeroed};
use std::ptr;

/// What a system call gives: its value, or the `errno`.
pub(crate) use coder_process::Called;

/// The current directory, as a descriptor that paths are relative to.
pub(crate) const HERE: c_int = libc::AT_FDCWD;

/// One argument as the kernel takes it.
trait Argument {
    fn word(self) -> usize;
}

impl Argument for c_int {
    fn word(self) -> usize {
        self as isize as usize
    }
}

impl Argument for c_uint {
    fn word(self) -> usize {
        self as usize
    }
}

impl Argument for u64 {
    fn word(self) -> usize {
        self as usize
    }
}

impl Argument for usize {
    fn word(self) -> usize {
        self
    }
}

impl Argument for &CStr {
    fn word(self) -> usize {
        self.as_ptr().addr()
    }
}

impl Argument for Option<&CStr> {
    fn word(self) -> usize {
        self.map_or(0, Argument::word)
    }
}

impl<T> Argument for *const T {
    fn word(self) -> usize {
        self.addr()
    }
}

impl Argument for &Descriptor {
    fn word(self) -> usize {
        self.0.word()
    }
}

/// Makes a system call with the arguments it takes.
macro_rules! call {
    ($number:expr $(, $argument:expr)*) => {{
        let mut words = [0_usize; 6];
        let mut places = words.iter_mut();
        $(if let Some(place) = places.next() {
            *place = Argument::word($argument);
        })*
        let _all_placed = places;
        let number: c_long = $number;
        system_call(number, words)
    }};
}

/// A descriptor closed when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Descriptor(pub(crate) c_int);

impl Descriptor {
    pub(crate) fn raw(&self) -> c_int {
        self.0
    }

    fn new(value: usize) -> Self {
        Self(value as c_int)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor was returned to us by the kernel and is closed once.
        let _closed_anyway = unsafe { call!(libc::SYS_close, self.0) };
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
    // SAFETY: every pointer is null or a NUL-terminated string that outlives the call.
    unsafe { call!(libc::SYS_mount, source, target, kind, flags, data) }.map(drop)
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
    let size = size_of::<libc::mount_attr>();
    // SAFETY: the path and the structure outlive the call, and the size is the structure's own.
    unsafe {
        call!(
            libc::SYS_mount_setattr,
            directory,
            path,
            flags,
            ptr::from_ref(wanted),
            size
        )
    }
    .map(drop)
}

/// Whether an act reaches the mounts beneath.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recursive {
    Yes,
    No,
}

/// Opens a path as a mere reference (`O_PATH`), refusing every symbolic link on the way.
pub(crate) fn open_reference(directory: c_int, path: &CStr) -> Called<Descriptor> {
    open_as(directory, path, libc::O_PATH)
}

/// The same for what must be a directory of this process's current one.
pub(crate) fn open_directory(path: &CStr) -> Called<Descriptor> {
    open_as(HERE, path, libc::O_PATH | libc::O_DIRECTORY)
}

fn open_as(directory: c_int, path: &CStr, flags: c_int) -> Called<Descriptor> {
    // SAFETY: an all-zero structure is a valid start.
    let mut how: libc::open_how = unsafe { zeroed() };
    how.flags = (flags | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_NO_SYMLINKS;
    let size = size_of::<libc::open_how>();
    // SAFETY: the path and the structure outlive the call, and the size is the structure's own.
    unsafe { call!(libc::SYS_openat2, directory, path, &raw const how, size) }.map(Descriptor::new)
}

/// Device and inode of an open file.
pub(crate) fn identity(file: &Descriptor) -> Called<(u64, u64)> {
    // SAFETY: an all-zero structure is overwritten by the call.
    let mut status: libc::stat = unsafe { zeroed() };
    // SAFETY: the structure outlives the call, and is the kernel's own on machines of 64 bits.
    unsafe { call!(libc::SYS_fstat, file, (&raw mut status).cast_const()) }?;
    Ok((status.st_dev, status.st_ino))
}

/// A detached copy of the mounts at and beneath an open path.
pub(crate) fn clone_tree(file: &Descriptor) -> Called<Descriptor> {
    let flags = libc::OPEN_TREE_CLONE
        | libc::OPEN_TREE_CLOEXEC as c_uint
        | libc::AT_EMPTY_PATH as c_uint
        | libc::AT_RECURSIVE as c_uint;
    // SAFETY: the empty path is a static string.
    unsafe { call!(libc::SYS_open_tree, file, c"", flags) }.map(Descriptor::new)
}

/// A detached, empty filesystem in memory with these mount attributes.
pub(crate) fn new_tmpfs(attributes: u64) -> Called<Descriptor> {
    // SAFETY: the name is a static string.
    let context = unsafe { call!(libc::SYS_fsopen, c"tmpfs", libc::FSOPEN_CLOEXEC as c_uint) }.map(Descriptor::new)?;
    let set = libc::FSCONFIG_SET_STRING as c_uint;
    // SAFETY: key and value are static strings.
    unsafe { call!(libc::SYS_fsconfig, &context, set, c"mode", c"0555", 0) }?;
    // SAFETY: this command takes neither key nor value.
    unsafe { call!(libc::SYS_fsconfig, &context, libc::FSCONFIG_CMD_CREATE as c_uint) }?;
    // SAFETY: no pointer is passed.
    unsafe { call!(libc::SYS_fsmount, &context, libc::FSMOUNT_CLOEXEC as c_uint, attributes) }.map(Descriptor::new)
}

/// The directories of a stacked filesystem; without commas, colons and backslashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Overlay {
    pub(crate) lower: CString,
    pub(crate) upper: CString,
    pub(crate) work: CString,
}

impl Overlay {
    /// Makes its own two directories.
    pub(crate) fn make_directories(&self) -> Called<()> {
        make_directory(&self.upper, 0o755)?;
        make_directory(&self.work, 0o700)
    }
}

/// A detached mount in which the upper directory lies over the lower one, which is never written.
pub(crate) fn new_overlay(layers: &Overlay) -> Called<Descriptor> {
    // SAFETY: the name is a static string.
    let context =
        unsafe { call!(libc::SYS_fsopen, c"overlay", libc::FSOPEN_CLOEXEC as c_uint) }.map(Descriptor::new)?;
    let text = libc::FSCONFIG_SET_STRING as c_uint;
    let options = [
        (c"source", c"overlay"),
        (c"lowerdir", layers.lower.as_c_str()),
        (c"upperdir", &layers.upper),
        (c"workdir", &layers.work),
        // Commands of one boundary may run at the same time, each with a mount of its own.
        (c"index", c"off"),
    ];
    for (key, value) in options {
        // SAFETY: key and value outlive the call.
        unsafe { call!(libc::SYS_fsconfig, &context, text, key, value, 0) }?;
    }
    let flag = libc::FSCONFIG_SET_FLAG as c_uint;
    // In a user namespace there are no trusted attributes.
    // SAFETY: the key is a static string, and a flag has no value.
    unsafe { call!(libc::SYS_fsconfig, &context, flag, c"userxattr") }?;
    // SAFETY: this command takes neither key nor value.
    unsafe { call!(libc::SYS_fsconfig, &context, libc::FSCONFIG_CMD_CREATE as c_uint) }?;
    let attributes = (libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV) as c_uint;
    // SAFETY: no pointer is passed.
    unsafe { call!(libc::SYS_fsmount, &context, libc::FSMOUNT_CLOEXEC as c_uint, attributes) }.map(Descriptor::new)
}

/// Takes a mount away from a path of our own making.
pub(crate) fn detach(path: &CStr) -> Called<()> {
    // SAFETY: the path outlives the call.
    unsafe { call!(libc::SYS_umount2, path, libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) }.map(drop)
}

/// Attaches a detached mount at an open path.
pub(crate) fn attach(tree: &Descriptor, target: &Descriptor) -> Called<()> {
    let flags = libc::MOVE_MOUNT_F_EMPTY_PATH | libc::MOVE_MOUNT_T_EMPTY_PATH;
    // SAFETY: the empty paths are static strings.
    unsafe { call!(libc::SYS_move_mount, tree, c"", target, c"", flags) }.map(drop)
}

/// Makes a directory; one that is there already is as good.
pub(crate) fn make_directory(path: &CStr, mode: libc::mode_t) -> Called<()> {
    // SAFETY: the path outlives the call.
    existing_is_fine(unsafe { call!(libc::SYS_mkdirat, HERE, path, mode) })
}

/// Makes an empty regular file; one that is there already is as good.
pub(crate) fn make_file(path: &CStr, mode: libc::mode_t) -> Called<()> {
    // SAFETY: the path outlives the call.
    existing_is_fine(unsafe { call!(libc::SYS_mknodat, HERE, path, libc::S_IFREG | mode) })
}

/// Sets the permissions of a path of our own making.
pub(crate) fn change_mode(path: &CStr, mode: libc::mode_t) -> Called<()> {
    // SAFETY: the path outlives the call.
    unsafe { call!(libc::SYS_fchmodat, HERE, path, mode) }.map(drop)
}

/// Makes a symbolic link.
pub(crate) fn make_link(content: &CStr, path: &CStr) -> Called<()> {
    // SAFETY: both strings outlive the call.
    unsafe { call!(libc::SYS_symlinkat, content, HERE, path) }.map(drop)
}

/// Makes a file with this content.
pub(crate) fn create_file(path: &CStr, content: &[u8], mode: libc::mode_t) -> Called<()> {
    if content.is_empty() {
        return make_file(path, mode);
    }
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: the path outlives the call.
    let file = unsafe { call!(libc::SYS_openat, HERE, path, flags, mode) }.map(Descriptor::new)?;
    write_whole(file.raw(), content)
}

fn existing_is_fine(made: Called<usize>) -> Called<()> {
    match made {
        Ok(_) | Err(libc::EEXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Writes a whole line to an existing file in one call.
pub(crate) fn write_file(path: &CStr, line: &[u8]) -> Called<()> {
    let flags = libc::O_WRONLY | libc::O_CLOEXEC;
    // SAFETY: the path outlives the call.
    let file = unsafe { call!(libc::SYS_openat, HERE, path, flags) }.map(Descriptor::new)?;
    write_whole(file.raw(), line)
}

/// Writes everything in one call, to a file that takes it at once or not at all.
pub(crate) fn write_whole(file: c_int, bytes: &[u8]) -> Called<()> {
    // SAFETY: the buffer outlives the call and its length is its own.
    let written = unsafe { call!(libc::SYS_write, file, bytes.as_ptr(), bytes.len()) }?;
    if written == bytes.len() {
        Ok(())
    } else {
        Err(libc::ENOSPC)
    }
}

/// Enters a directory.
pub(crate) fn change_directory(path: &CStr) -> Called<()> {
    // SAFETY: the path outlives the call.
    unsafe { call!(libc::SYS_chdir, path) }.map(drop)
}

/// Makes the current directory the root and detaches the old one with everything in it.
pub(crate) fn pivot_here() -> Called<()> {
    // SAFETY: the paths are static strings. Both being `.` stacks the old root over the new one, whence it is detached.
    unsafe { call!(libc::SYS_pivot_root, c".", c".") }?;
    // SAFETY: the path is a static string.
    unsafe { call!(libc::SYS_umount2, c".", libc::MNT_DETACH) }?;
    change_directory(c"/")
}

/// Brings the loopback interface of this network namespace up.
pub(crate) fn loopback_up() -> Called<()> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: no pointer is passed.
    let socket = unsafe { call!(libc::SYS_socket, libc::AF_INET, kind) }.map(Descriptor::new)?;
    // SAFETY: an all-zero structure is a valid start.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = *byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    let set = libc::SIOCSIFFLAGS as usize;
    // SAFETY: the structure outlives the call and is the one this request takes.
    unsafe { call!(libc::SYS_ioctl, &socket, set, &raw const request) }.map(drop)
}

/// Makes a socket that listens on this network namespace's loopback and hands it to the host through `way_out`.
pub(crate) fn hand_over_listener(way_out: c_int, port: u16) -> Called<()> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointer is passed.
    let listener = unsafe { call!(libc::SYS_socket, libc::AF_INET, kind) }.map(Descriptor::new)?;
    // SAFETY: an all-zero structure is a valid start.
    let mut address: libc::sockaddr_in = unsafe { zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = u32::from_be_bytes([127, 0, 0, 1]).to_be();
    let size = size_of::<libc::sockaddr_in>();
    // SAFETY: the structure outlives the call, and the size is its own.
    unsafe { call!(libc::SYS_bind, &listener, &raw const address, size) }?;
    // SAFETY: no pointer is passed.
    unsafe { call!(libc::SYS_listen, &listener, LISTEN_QUEUE) }?;
    send_descriptor(way_out, &listener)
}

/// How many connections wait for the host to take them.
const LISTEN_QUEUE: c_int = 128;

/// One control message that carries one descriptor, as the kernel lays it out: the header, the descriptor, padding.
#[repr(C)]
struct Rights {
    header: libc::cmsghdr,
    descriptor: c_int,
    _padding: c_int,
}

fn send_descriptor(socket: c_int, descriptor: &Descriptor) -> Called<()> {
    let byte = [0_u8];
    let part = libc::iovec {
        iov_base: byte.as_ptr().cast_mut().cast(),
        iov_len: byte.len(),
    };
    // SAFETY: an all-zero structure is a valid start.
    let mut rights: Rights = unsafe { zeroed() };
    rights.header.cmsg_len = (size_of::<libc::cmsghdr>() + size_of::<c_int>()) as _;
    rights.header.cmsg_level = libc::SOL_SOCKET;
    rights.header.cmsg_type = libc::SCM_RIGHTS;
    rights.descriptor = descriptor.raw();
    // SAFETY: an all-zero structure is a valid start.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = (&raw const part).cast_mut();
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut rights).cast();
    message.msg_controllen = size_of::<Rights>() as _;
    // SAFETY: the header and all that it points to outlive the call.
    unsafe { call!(libc::SYS_sendmsg, socket, &raw const message, libc::MSG_NOSIGNAL) }.map(drop)
}

/// A process control of plain numbers.
pub(crate) fn control(option: c_int, second: libc::c_ulong, third: libc::c_ulong) -> Called<()> {
    // SAFETY: the options used here take numbers only.
    unsafe { call!(libc::SYS_prctl, option, second, third) }.map(drop)
}

/// Gives up every permitted, effective and inheritable capability but those permitted ones.
pub(crate) fn keep_capabilities(kept: u64) -> Called<()> {
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
    let (low, high) = (kept as u32, (kept >> 32) as u32);
    let sets = [low, low, 0, high, high, 0];
    // SAFETY: header and data have the layout of this version and outlive the call.
    unsafe { call!(libc::SYS_capset, &raw const header, sets.as_ptr()) }.map(drop)
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
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the program outlives the call; both filter types have the kernel's layout of eight bytes.
    unsafe { call!(libc::SYS_seccomp, mode, 0, &raw const program) }.map(drop)
}

/// The newest Landlock ABI of the kernel.
pub(crate) fn landlock_abi() -> Called<i32> {
    const VERSION: c_uint = 1;
    // SAFETY: a null pointer of size zero is what this query takes.
    unsafe { call!(libc::SYS_landlock_create_ruleset, 0, 0, VERSION) }.map(|abi| abi as i32)
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
    // SAFETY: the structure outlives the call and `size` is at most its size.
    unsafe { call!(libc::SYS_landlock_create_ruleset, ptr::from_ref(handled), size) }.map(Descriptor::new)
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
    // SAFETY: the rule has the kernel's packed layout and outlives the call.
    unsafe { call!(libc::SYS_landlock_add_rule, ruleset, PATH_BENEATH, &raw const rule) }.map(drop)
}

/// Puts the calling thread under a ruleset.
pub(crate) fn landlock_restrict(ruleset: &Descriptor) -> Called<()> {
    // SAFETY: no pointer is passed.
    unsafe { call!(libc::SYS_landlock_restrict_self, ruleset) }.map(drop)
}

/// Opens a path inside the finished root as a reference, links followed.
pub(crate) fn open_inside(path: &CStr) -> Called<Descriptor> {
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    // SAFETY: the path outlives the call.
    unsafe { call!(libc::SYS_openat, HERE, path, flags) }.map(Descriptor::new)
}
