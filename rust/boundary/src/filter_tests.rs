//! Tests of `filter`, by running the program as the kernel would.

use super::*;
use proptest::prelude::*;
use rstest::rstest;
use seccompiler::sock_filter;
use std::sync::LazyLock;

static PROGRAM: LazyLock<BpfProgram> = LazyLock::new(|| program(Profile::default()).unwrap());

/// Runs the few instructions the program uses on one call.
fn answer(program: &[sock_filter], call: u32, architecture: u32, arguments: [u64; 6]) -> u32 {
    let word = |offset: u32| match offset {
        0 => call,
        4 => architecture,
        offset if offset >= 16 => {
            let argument = arguments[(offset as usize - 16) / 8];
            if offset % 8 == 0 {
                argument as u32
            } else {
                (argument >> 32) as u32
            }
        }
        _ => 0,
    };
    let (mut accumulator, mut position) = (0_u32, 0_usize);
    loop {
        let sock_filter { code, jt, jf, k } = program[position];
        position += 1;
        let jump = |taken: bool| if taken { usize::from(jt) } else { usize::from(jf) };
        match u32::from(code) {
            0x20 => accumulator = word(k),
            0x45 => position += jump(accumulator & k != 0),
            0x05 => position += k as usize,
            0x15 => position += jump(accumulator == k),
            0x25 => position += jump(accumulator > k),
            0x35 => position += jump(accumulator >= k),
            0x06 => return k,
            other => panic!("instruction {other:#x}"),
        }
    }
}

const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
const KILL: u32 = 0x8000_0000;
#[cfg(target_arch = "x86_64")]
const HERE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const HERE: u32 = 0xc000_00b7;

#[test]
fn every_call_gets_its_answer_and_no_other() {
    let by_argument: Vec<i64> = rules(Profile::default()).into_iter().map(|(call, _)| call).collect();
    for call in 0..600_u32 {
        let number = c_long::from(call);
        if by_argument.contains(&number) {
            continue;
        }
        let expected = if MISSING.contains(&number) {
            ERRNO | libc::ENOSYS as u32
        } else if REFUSED.contains(&number) || REFUSED_HERE.contains(&number) {
            ERRNO | libc::EPERM as u32
        } else {
            ALLOW
        };
        assert_eq!(answer(&PROGRAM, call, HERE, [0; 6]), expected, "call {call}");
    }
}

/// Each instruction costs at every start of a command.
#[test]
fn the_program_is_small() {
    assert!(PROGRAM.len() < 170, "{}", PROGRAM.len());
}

#[rstest]
#[case::a_terminal_fed(libc::SYS_ioctl, [0, libc::TIOCSTI, 0], false)]
#[case::a_console_fed(libc::SYS_ioctl, [0, libc::TIOCLINUX, 0], false)]
#[case::a_terminal_asked(libc::SYS_ioctl, [0, libc::TIOCGWINSZ, 0], true)]
#[case::the_upper_half_ignored(libc::SYS_ioctl, [0, libc::TIOCSTI | 1 << 32, 0], false)]
#[case::usual_domain(libc::SYS_personality, [0xffff_ffff, 0, 0], true)]
#[case::odd_domain(libc::SYS_personality, [0x40_0000, 0, 0], false)]
#[case::time_by_unshare(libc::SYS_unshare, [0x80, 0, 0], false)]
#[case::files_by_unshare(libc::SYS_unshare, [libc::CLONE_FILES as u64, 0, 0], true)]
#[case::pair(libc::SYS_socketpair, [libc::AF_UNIX as u64, 0, 0], true)]
#[case::netlink_pair(libc::SYS_socketpair, [libc::AF_NETLINK as u64, 0, 9], true)]
#[case::odd_pair(libc::SYS_socketpair, [libc::AF_VSOCK as u64, 0, 0], false)]
fn arguments_decide(#[case] call: c_long, #[case] first: [u64; 3], #[case] allowed: bool) {
    let expected = if allowed { ALLOW } else { ERRNO | libc::EPERM as u32 };
    let arguments = [first[0], first[1], first[2], 0, 0, 0];
    assert_eq!(answer(&PROGRAM, call as u32, HERE, arguments), expected);
}

#[test]
fn no_file_is_given_the_rights_of_its_owner() {
    let refused = ERRNO | libc::EPERM as u32;
    for (call, mode) in MODE_CALLS.into_iter().chain(MODE_CALLS_HERE) {
        for (bits, expected) in [
            (0o4755, refused),
            (0o2755, refused),
            (0o6755, refused),
            (0o1777, ALLOW),
            (0o755, ALLOW),
        ] {
            let mut arguments = [0; 6];
            arguments[usize::from(mode)] = bits;
            assert_eq!(
                answer(&PROGRAM, call as u32, HERE, arguments),
                expected,
                "call {call}, mode {bits:o}"
            );
        }
    }
    for (call, flags, mode) in std::iter::once(OPENING).chain(OPENING_HERE) {
        let creating = libc::O_CREAT as u64;
        for (flag, bits, expected) in [
            (creating, 0o4755, refused),
            (libc::O_TMPFILE as u64, 0o2644, refused),
            (creating, 0o644, ALLOW),
            (libc::O_DIRECTORY as u64, 0o4755, ALLOW),
            (0, 0o4755, ALLOW),
        ] {
            let mut arguments = [0; 6];
            (arguments[usize::from(flags)], arguments[usize::from(mode)]) = (flag, bits);
            assert_eq!(
                answer(&PROGRAM, call as u32, HERE, arguments),
                expected,
                "call {call}, {flag:o}, {bits:o}"
            );
        }
    }
}

proptest! {
    #[test]
    fn a_clone_is_refused_exactly_when_it_makes_a_namespace(flags in any::<u64>()) {
        let namespaces = NAMESPACES.iter().any(|flag| flags as u32 & *flag as u32 != 0);
        let expected = if namespaces { ERRNO | libc::EPERM as u32 } else { ALLOW };
        prop_assert_eq!(answer(&PROGRAM, libc::SYS_clone as u32, HERE, [flags, 0, 0, 0, 0, 0]), expected);
    }

    #[test]
    fn a_foreign_architecture_is_never_allowed(call in any::<u32>(), architecture in any::<u32>()) {
        prop_assume!(architecture != HERE);
        let answer = answer(&PROGRAM, call, architecture, [0; 6]);
        prop_assert!(answer == KILL || answer & 0xffff_0000 == ERRNO, "{:#x}", answer);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn an_x32_number_is_never_allowed(call in 0x4000_0000_u32..) {
        prop_assert_eq!(answer(&PROGRAM, call, HERE, [0; 6]), ERRNO | libc::ENOSYS as u32);
    }

    #[test]
    fn a_socket_is_allowed_exactly_in_the_listed_families(family in 0_u64..60, protocol in 0_u64..30) {
        let listed = FAMILIES.iter().any(|listed| family == *listed as u64);
        let route = family == libc::AF_NETLINK as u64 && protocol == libc::NETLINK_ROUTE as u64;
        let expected = if listed || route { ALLOW } else { ERRNO | libc::EPERM as u32 };
        let arguments = [family | 0xf_0000_0000, 1, protocol, 0, 0, 0];
        prop_assert_eq!(answer(&PROGRAM, libc::SYS_socket as u32, HERE, arguments), expected);
    }
}
